import Foundation
import Glibc

/// A server's blocking socket.
enum BlockingSocket {
    /// Sends all of it; false if the connection is over. Never raises SIGPIPE.
    static func send(_ data: Data, to descriptor: Int32) -> Bool {
        var rest = data
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
