import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's conversations", .timeLimit(.minutes(1)))
struct LoopbackServerConversationTests {
    typealias Client = LoopbackServerRawClient

    @Test("A stream server greets, and answers what it hears")
    func stream() async throws {
        let server = try LoopbackServer { connection in
            { event in
                switch event {
                case .opened: [.bytes("220 Hello \(connection)\r\n")]
                case .received(let data): [.bytes("<"), .bytes(data), .bytes(">")]
                case .finished: []
                }
            }
        }
        defer { server.stop() }
        for number in 1...2 {
            let client = try Client(port: server.port)
            #expect(client.receive(13) == Data("220 Hello \(number)\r\n".utf8))
            client.send("a")
            #expect(client.receive(3) == Data("<a>".utf8))
            client.send("GET / HTTP/1.1\r\n\r\n")
            #expect(client.receive(20) == Data("<GET / HTTP/1.1\r\n\r\n>".utf8))
            client.close()
        }
        try await server.waitUntilNoConnections()
        #expect(server.requestCount == 0)
    }

    @Test("A stream server that allows half-closing has the last word")
    func halfClose() throws {
        var options = LoopbackServer.Options()
        options.allowsHalfClose = true
        let server = try LoopbackServer(options: options) { _ in
            { event in
                if case .finished = event { [.bytes("goodbye")] } else { [] }
            }
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.send("hello")
        client.finishSending()
        let (data, ending) = client.receiveAll()
        #expect(data == Data("goodbye".utf8))
        #expect(ending == .finished)
    }

    @Test("An upgraded connection speaks HTTP no more, not even what came with the request")
    func upgrade() throws {
        let server = try LoopbackServer { _ in
            .raw([
                .bytes("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"),
                .converse { event in
                    switch event {
                    case .received(let data) where data == Data("bye".utf8): [.bytes(data), .close]
                    case .received(let data): [.bytes(data)]
                    case .opened, .finished: []
                    }
                },
            ])
        }
        defer { server.stop() }
        let client = try Client(port: server.port)
        client.get("/", "Connection: upgrade\r\nUpgrade: echo\r\n")
        client.send("early")
        #expect(client.receiveAnswer()?.status == 101)
        #expect(client.receive(5) == Data("early".utf8))
        client.send("bye")
        let (data, ending) = client.receiveAll()
        #expect(data == Data("bye".utf8))
        #expect(ending == .finished)
    }
}
