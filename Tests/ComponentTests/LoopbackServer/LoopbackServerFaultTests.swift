import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's faults", .timeLimit(.minutes(1)))
struct LoopbackServerFaultTests {
    typealias Client = LoopbackServerRawClient
    typealias Fault = LoopbackServer.Fault

    static let bodyStart = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"

    static func generated(_ count: Int) -> String {
        String(decoding: GeneratedBody.bytes(seed: 0, length: count), as: UTF8.self)
    }

    /// What the client receives of each fault.
    static let faults: [(Fault, String)] = [
        (.beforeAnyByte, ""),
        (.insideHead, "HTTP/1.1 200 OK\r\nContent-Type: text/pl"),
        (.afterHead(length: 5), bodyStart + "Content-Length: 5\r\n\r\n"),
        (.insideBody(after: 3, of: 5), bodyStart + "Content-Length: 5\r\n\r\n" + generated(3)),
        (.insideChunk(after: 15), bodyStart + "Transfer-Encoding: chunked\r\n\r\n10\r\n" + generated(15)),
        (.lengthTooShort(claimed: 3, sent: 5), bodyStart + "Content-Length: 3\r\n\r\n" + generated(5)),
        (.malformedChunk, bodyStart + "Transfer-Encoding: chunked\r\n\r\nhello\r\nworld\r\n"),
        (.garbage, "This is no HTTP at all.\r\n\r\n"),
    ]

    @Test("Each fault sends its bytes, then FIN or RST", arguments: [LoopbackServer.FaultEnding.close, .reset])
    func endings(ending: LoopbackServer.FaultEnding) async throws {
        let server = try LoopbackServer { request in
            .fault(Self.faults[Int(request.path.dropFirst()) ?? 0].0, then: ending)
        }
        defer { server.stop() }
        for (index, (_, expected)) in Self.faults.enumerated() {
            let client = try Client(port: server.port)
            client.get("/\(index)")
            let (data, clientEnding) = client.receiveAll()
            #expect(String(decoding: data, as: UTF8.self) == expected)
            #expect(clientEnding == (ending == .close ? .finished : .reset))
        }
        try await server.waitUntilNoConnections()
    }

    @Test("A hanging fault sends its bytes and keeps the connection open until the client leaves")
    func hanging() async throws {
        let server = try LoopbackServer { _ in .fault(.insideHead, then: .hang) }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        let expected = Data("HTTP/1.1 200 OK\r\nContent-Type: text/pl".utf8)
        #expect(client.receive(expected.count) == expected)
        #expect(server.openConnections == 1)
        client.close()
        try await server.waitUntilNoConnections()
    }

    @Test("All bytes before a reset arrive, however slowly they are read")
    func resetAfterLargeBody() async throws {
        let count = 2_000_000
        let server = try LoopbackServer { _ in .fault(.insideBody(after: Int64(count), of: 1 << 30), then: .reset) }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        try await server.waitForBytesSent(Int64(count))
        let (data, ending) = client.receiveAll()
        #expect(data.suffix(count) == GeneratedBody.bytes(seed: 0, length: count))
        #expect(ending == .reset)
    }

    @Test("A silent server keeps the connection open until the client leaves")
    func never() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/")
        try await server.waitForRequests(1)
        #expect(server.openConnections == 1)
        client.reset()
        try await server.waitUntilNoConnections()
        #expect(server.bytesSent == 0)
    }
}
