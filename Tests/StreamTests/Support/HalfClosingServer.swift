import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport

/// Sends a greeting to its one client, and FIN after it; then it reads to the client's end. The test must call `stop()`.
final class HalfClosingServer: Sendable {
    let port: Int
    /// The client has ended, too, or is gone.
    let isOver = Gate()
    private let listener: Int32

    /// - Parameters:
    ///   - ends: Whether it sends FIN before the client does.
    ///   - reads: When it reads; nil for at once.
    ///   - received: Called with what comes, on a thread of the server's.
    init(
        greeting: String,
        ends: Bool = true,
        reads: Gate? = nil,
        received: @escaping @Sendable (Data) -> Void
    ) throws {
        (listener, port) = try ListeningSocket.open(backlog: 1, for: "a half-closing server")
        let thread = Thread { [listener, isOver] in
            defer { isOver.open() }
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            let bytes = Array(greeting.utf8)
            _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if ends { shutdown(client, Int32(SHUT_WR)) }
            reads?.waitBlocking()
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(client, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                received(Data(buffer[..<count]))
            }
            close(client)
        }
        thread.start()
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}
