import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Web sockets with servers that others have written", .timeLimit(.minutes(3)))
struct WebSocketServerTests {
    private typealias Library = PythonWebSocketServer.Library

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func converse(_ task: URLSessionWebSocketTask, _ delegate: WebSocketDelegate) async throws {
        task.maximumMessageSize = 4 << 20
        task.resume()
        for text in ["", "a", String(repeating: "Hällo ", count: 1000), String(repeating: "€", count: 400_000)] {
            try await task.send(.string(text))
            #expect(try await task.receiveText() == text)
        }
        var random = SeededGenerator(seed: 1)
        for length in [0, 1, 126, 70_000, 1_000_000] {
            let data = Data((0..<length).map { _ in UInt8.random(in: 0...15, using: &random) })
            try await task.send(.data(data))
            #expect(try await task.receive() == .data(data))
        }
        try await task.sendPing()
        try await task.send(.string("flood 200 3000"))
        for number in 0..<200 {
            #expect(try await task.receive() == .data(Data(repeating: UInt8(number % 251), count: 3000)))
        }
    }

    @Test(
        "Web sockets work with servers that others have written, compressed or not",
        arguments: PythonWebSocketServer.Library.allCases,
        [false, true]
    )
    func python(library: PythonWebSocketServer.Library, isCompressed: Bool) async throws {
        let server = try PythonWebSocketServer(library, isCompressed: isCompressed)
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(
            with: try url("ws://127.0.0.1:\(server.port)/"),
            protocols: ["nobody's", "echo"]
        )
        try await converse(task, delegate)
        let response = try #require(task.response as? HTTPURLResponse)
        #expect((response.value(forHTTPHeaderField: "Sec-WebSocket-Extensions") != nil) == isCompressed)
        try await task.send(.string("close 4321 see you"))
        let events = try await delegate.completion()
        #expect(events == [.opened("echo"), .closed(0, reason: "see you"), .completed(nil)])
        #expect(task.closeStatus == 4321)
    }

    @Test(
        "Each parameter of compression is agreed on, and kept",
        arguments: PythonWebSocketServer.Library.allCases,
        0..<4
    )
    func parameters(library: PythonWebSocketServer.Library, number: Int) async throws {
        let server = try PythonWebSocketServer(library, isCompressed: true)
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            switch number {
            case 0: $0.curl.webSockets.compression?.serverNoContextTakeover = true
            case 1: $0.curl.webSockets.compression?.clientNoContextTakeover = true
            case 2: $0.curl.webSockets.compression?.serverMaxWindowBits = 9
            default: $0.curl.webSockets.compression?.clientMaxWindowBits = 9
            }
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url("ws://127.0.0.1:\(server.port)/"))
        try await converse(task, delegate)
        task.cancel(with: .normalClosure, reason: nil)
        #expect(try await delegate.completion() == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
    }

    @Test("nginx passes web sockets on, without TLS and with it", arguments: [false, true])
    func nginx(isSecure: Bool) async throws {
        let server = try PythonWebSocketServer(.websockets, isCompressed: true)
        let nginx = try Nginx.shared()
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
        }
        defer { session.invalidateAndCancel() }
        let plain = isSecure ? nginx.tls("/websocket/\(server.port)/") : nginx.plain("/websocket/\(server.port)/")
        let address = plain.absoluteString.replacingOccurrences(of: "http", with: "ws", options: .anchored)
        let task = session.webSocketTask(with: try url(address))
        try await converse(task, delegate)
        #expect(task.originalRequest?.url?.scheme == (isSecure ? "wss" : "ws"))
        task.cancel(with: .goingAway, reason: nil)
        #expect(try await delegate.completion() == [.opened(nil), .closed(1001, reason: ""), .completed(nil)])
    }

    @Test("nginx passes on a web socket that comes over TLS over a Unix socket")
    func unixSocketTLS() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let nginx = try Nginx.shared()
        let session = URLSession.forTest { $0.curl.tls.trustRoots = [.file(nginx.site.authority)] }
        defer { session.invalidateAndCancel() }
        let address = nginx.unixTLS("/websocket/\(server.port)/").absoluteString
        let task = session.webSocketTask(
            with: try url(address.replacingOccurrences(of: "https", with: "wss", options: .anchored))
        )
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(task.originalRequest?.url?.scheme == "wss+unix")
    }

    @Test(
        "Web sockets go through tunnels of HTTP and SOCKS proxies",
        arguments: ["squid", "basic", "tls", "dante", "microsocks"]
    )
    func proxies(name: String) async throws {
        let server = try PythonWebSocketServer(.websockets, isCompressed: false)
        let proxy =
            switch name {
            case "squid": try Squid.shared().server(.open)
            case "basic": try Squid.shared().server(.basic)
            case "tls": try Squid.shared().server(.tls)
            case "dante": try Dante.shared().server(.socks5)
            default: try Microsocks.shared().server()
            }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.proxy = .server(proxy) }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: try url("ws://127.0.0.1:\(server.port)/"))
        try await converse(task, delegate)
        task.cancel(with: .normalClosure, reason: nil)
        #expect(try await delegate.completion() == [.opened(nil), .closed(1000, reason: ""), .completed(nil)])
    }
}
