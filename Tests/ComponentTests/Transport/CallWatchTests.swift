import Glibc
import TestSupport
import Testing

@testable import CurlTransport

@Suite("The watch over calls into libcurl", .timeLimit(.minutes(1)))
struct CallWatchTests {
    /// Two ends of one TCP connection. The test closes them.
    private static func connection() throws -> (ours: Int32, theirs: Int32) {
        let (listener, port) = try ListeningSocket.open(backlog: 1, for: "counting")
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let ours = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(ours, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let theirs = accept(listener, nil, nil)
        try #require(isConnected && theirs >= 0)
        return (ours, theirs)
    }

    /// nil if that isn't known to the byte.
    private static func exactlyRead(from socket: Int32) -> Int64? {
        CallWatch.bytesRead(from: socket).flatMap { $0.lowerBound == $0.upperBound ? $0.lowerBound : nil }
    }

    @Test("The watch knows how much was read of a TCP connection, whatever else has arrived")
    func bytesRead() throws {
        let (ours, theirs) = try Self.connection()
        defer {
            close(ours)
            close(theirs)
        }
        var bytes = [UInt8](repeating: 1, count: 100)
        #expect(Self.exactlyRead(from: ours) == 0)
        let sent = send(theirs, bytes, bytes.count, 0)
        #expect(sent == 100)
        var all: Int64 = 0
        for part in [60, 30, 10] {
            // They may arrive in pieces.
            let count = recv(ours, &bytes, part, Int32(MSG_WAITALL))
            #expect(count == part)
            all += Int64(part)
            #expect(Self.exactlyRead(from: ours) == all)
        }
        #expect(Self.exactlyRead(from: theirs) == 0)
    }

    @Test("The watch doesn't know how much was read of a Unix domain socket, or of an invalid descriptor")
    func otherDescriptors() throws {
        let pair = try SocketPair()
        pair.write("hello")
        #expect(CallWatch.bytesRead(from: pair.near) == nil)
        #expect(CallWatch.bytesRead(from: -1) == nil)
    }
}
