import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("The request that opens a web socket", .timeLimit(.minutes(2)))
struct WebSocketRequestTests {
    @Test("A web socket's request has the request's fields, the session's and the cookies, and stores the answer's")
    func fieldsAndCookies() async throws {
        let server = try LoopbackServer { request in
            request.path == "/login"
                ? .text("in").header("Set-Cookie", "session=1")
                : .webSocketEcho(request, headers: [("Set-Cookie", "socket=2")])
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.httpAdditionalHeaders = ["X-Session": "s"]
        }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/login"))
        var request = URLRequest(server.webSocketURL("/chat?room=1"), headers: ["X-Own": "o", "Connection": "close"])
        request.httpMethod = "POST"
        request.httpBody = Data("ignored".utf8)
        let task = session.webSocketTask(with: request)
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        let sent = server.requests[1]
        #expect(sent.method == "GET")
        #expect(sent.target == "/chat?room=1")
        #expect(sent.header("Host") == "127.0.0.1:\(server.port)")
        #expect(sent.header("X-Own") == "o")
        #expect(sent.header("X-Session") == "s")
        #expect(sent.header("Cookie") == "session=1")
        #expect(sent.headers(named: "Connection") == ["Upgrade"])
        #expect(sent.header("Upgrade") == "websocket")
        #expect(sent.header("Content-Length") == nil)
        #expect(task.currentRequest?.url == server.webSocketURL("/chat?room=1"))
        let result = await session.load(server.url("/login"))
        #expect(result.error == nil)
        let cookies = server.requests[2].header("Cookie") ?? ""
        #expect(Set(cookies.components(separatedBy: "; ")) == ["session=1", "socket=2"])
    }

    @Test("A web socket's cookies are stored when its first message is sent or received", arguments: [true, false])
    func cookiesBeforeMessages(receives: Bool) async throws {
        let cookies = (1...40).map { ("Set-Cookie", "c\($0)=1") }
        let server = try LoopbackServer { request in
            .webSocket(request, headers: cookies) { event in
                if case .opened = event { [.frame(.text("hello"))] } else { [] }
            }
        }
        defer { server.stop() }
        for _ in 1...20 {
            let session = URLSession.forTest()
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL("/chat"))
            task.resume()
            if receives {
                #expect(try await task.receiveText() == "hello")
            } else {
                try await task.send(.string("hello"))
            }
            #expect(session.configuration.httpCookieStorage?.cookies?.count == cookies.count)
            task.cancel()
        }
    }

    @Test("The session's own field names the protocols where neither the request nor the call does")
    func sessionProtocols() async throws {
        let server = try LoopbackServer { request in .webSocketEcho(request) }
        defer { server.stop() }
        let session = URLSession.forTest { $0.httpAdditionalHeaders = ["sec-websocket-protocol": "a, b"] }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.webSocketURL(), headers: ["Sec-WebSocket-Protocol": "c"])
        let tasks = [
            session.webSocketTask(with: server.webSocketURL()), session.webSocketTask(with: request),
            session.webSocketTask(with: server.webSocketURL(), protocols: ["d"]),
        ]
        for task in tasks {
            task.resume()
            try await task.send(.string("a"))
            #expect(try await task.receiveText() == "a")
        }
        #expect(server.requests.map { $0.header("Sec-WebSocket-Protocol") } == ["a, b", "c", "d"])
    }

    @Test("A refused handshake fails the task, which shows the response", arguments: [200, 404, 426, 503])
    func refused(status: Int) async throws {
        let server = try LoopbackServer { _ in .text("no", status: status).header("X-Why", "because") }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        #expect(await task.receiveError()?.code == .badServerResponse)
        #expect(try await delegate.completion() == [.completed(.badServerResponse)])
        let response = try #require(task.response as? HTTPURLResponse)
        #expect(response.statusCode == status)
        #expect(response.value(forHTTPHeaderField: "X-Why") == "because")
        try await server.waitUntilNoConnections()
    }

    @Test("A malformed answer, or one to another handshake, opens no web socket")
    func invalid() async throws {
        let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        for answer in [
            switching + "\r\n", switching + "Sec-WebSocket-Accept: AAAA\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n", "\r\n\r\n",
            String(repeating: "a", count: 400_000),
        ] {
            let server = try LoopbackServer { _ in .raw([.bytes(answer), .never]) }
            defer { server.stop() }
            let session = URLSession.forTest()
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            let error = await task.receiveError()
            #expect([.badServerResponse, .cannotParseResponse].contains(error?.code), "\(answer.prefix(60))")
            try await server.waitUntilNoConnections()
        }
    }

    @Test("Redirects are followed, to web sockets' URLs, too", arguments: [false, true])
    func redirect(toWebSocketURL: Bool) async throws {
        let target = try LoopbackServer { .webSocketEcho($0) }
        defer { target.stop() }
        let location = toWebSocketURL ? target.webSocketURL("/there") : target.url("/there")
        let server = try LoopbackServer { _ in .redirect(to: location) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(task.currentRequest?.url == target.webSocketURL("/there"))
        #expect(task.originalRequest?.url == server.webSocketURL())
        // Each connection has a key of its own (RFC 6455 §4.1).
        let keys = [server.requests[0], target.requests[0]].map { $0.header("Sec-WebSocket-Key") }
        #expect(keys[0] != nil && keys[1] != nil && keys[0] != keys[1])
    }

    @Test("A delegate's own request in place of a redirect may be to a web socket's URL")
    func redirectedByDelegate() async throws {
        let target = try LoopbackServer { .webSocketEcho($0) }
        defer { target.stop() }
        let server = try LoopbackServer { _ in .redirect(to: target.url("/there")) }
        defer { server.stop() }
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = URLRequest(url: target.webSocketURL("/elsewhere"))
            request.httpMethod = "POST"
            request.httpBody = Data("ignored".utf8)
            redirect.answer(request)
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(target.requests.map(\.target) == ["/elsewhere"])
        #expect(target.requests.map(\.method) == ["GET"])
        #expect(task.currentRequest?.url == target.webSocketURL("/elsewhere"))
    }

    @Test("A server's challenge is answered, and one that can't be answered fails the task", arguments: [true, false])
    func challenge(hasCredential: Bool) async throws {
        let token = "Basic " + Data("user:secret".utf8).base64EncodedString()
        let server = try LoopbackServer { request in
            guard request.header("Authorization") == token else {
                return .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"a\"")
                    .header("WWW-Authenticate", "NTLM")
            }
            return .webSocketEcho(request)
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCredentialStorage = nil
        }
        defer { session.invalidateAndCancel() }
        let text = server.webSocketURL().absoluteString
        let address = hasCredential ? text.replacingOccurrences(of: "://", with: "://user:secret@") : text
        let task = session.webSocketTask(with: try #require(URL(string: address)))
        task.resume()
        guard hasCredential else {
            #expect(await task.receiveError()?.code == .userAuthenticationRequired)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 401)
            return
        }
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(Set(server.requests.map { $0.header("Sec-WebSocket-Key") }).count == server.requestCount)
    }

    @Test("The program's own options of libcurl are set on the connection")
    func ownOptions() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let paths = Watched<[String]>([])
        let session = URLSession.forTest {
            $0.curl.configureTransfer = { transfer, request in
                let path = request.url?.path ?? ""
                paths.update { $0.append(path) }
                if path == "/nowhere" { try transfer.set("INTERFACE", "if!none") }
            }
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL("/here"))
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        let other = session.webSocketTask(with: server.webSocketURL("/nowhere"))
        other.resume()
        #expect(await other.receiveError() != nil)
        #expect(paths.value == ["/here", "/nowhere"])
        #expect(server.requestCount == 1)
    }

    @Test(
        "An option that libcurl couldn't apply to a web socket fails it before it connects, and the error names it",
        arguments: ["REFERER", "REQUEST_TARGET", "AWS_SIGV4", "TIMEOUT_MS", "MAX_RECV_SPEED_LARGE", "LOW_SPEED_LIMIT"]
    )
    func uselessOptions(name: String) async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set(CurlOption(name), 1) }
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        let error = try #require(await task.receiveError())
        #expect(error.code == .unknown)
        let refusal = try #require(error.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)
        #expect(refusal.option == CurlOption(name))
        #expect(refusal.reason.contains("has no effect"))
        #expect(server.connectionCount == 0)
    }

    @Test("An option that works while connecting acts on a web socket, and one that does no harm there may be set")
    func usefulOptions() async throws {
        let server = try LoopbackServer { $0.path == "/" ? .webSocketEcho($0) : .text("a") }
        defer { server.stop() }
        let delegate = MetricsDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.configureTransfer = { transfer, request in
                try transfer.set("INTERFACE", "host!127.0.0.2")
                try transfer.set("HTTP_VERSION", 4)
                try transfer.set("ACCEPT_ENCODING", "gzip")
                try transfer.set("FTP_SKIP_PASV_IP", true)
                if !transfer.onlyConnects { try transfer.set("REFERER", "http://referer.test/") }
            }
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        task.cancel(with: .normalClosure, reason: nil)
        try await delegate.metrics.wait { $0 != nil }
        #expect(delegate.metrics.value?.transactionMetrics.first?.localAddress == "127.0.0.2")
        #expect(await session.load(server.url("/other")).text == "a")
        #expect(server.requests.map { $0.header("Referer") } == [nil, "http://referer.test/"])
    }

    @Test("A web socket can be opened over a Unix socket", arguments: ["http+unix", "ws+unix"])
    func unixSocket(scheme: String) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("s").path
        let server = try LoopbackServer(unixSocket: .path(path)) { .webSocketEcho($0) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let address = server.url("/a").absoluteString.replacingOccurrences(of: "http+unix", with: scheme)
        let task = session.webSocketTask(with: try #require(URL(string: address)))
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        #expect(server.requests[0].header("Host") == "localhost")
    }

    @Test("A silent server times out, a refused connection fails, and so do URLs and protocols that make no sense")
    func failures() async throws {
        let server = try LoopbackServer { _ in .raw([.never]) }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let silent = session.webSocketTask(with: URLRequest(server.webSocketURL(), timeout: 0.2))
        silent.resume()
        #expect(await silent.receiveError()?.code == .timedOut)
        let refused = session.webSocketTask(
            with: try #require(URL(string: "ws://127.0.0.1:\(try LoopbackServer.refusingPort())/"))
        )
        refused.resume()
        #expect(await refused.receiveError()?.code == .cannotConnectToHost)
        for address in ["ftp://127.0.0.1/", "file:///tmp/a", "data:,a", "gopher://a/"] {
            let task = session.webSocketTask(with: try #require(URL(string: address)))
            task.resume()
            #expect(await task.receiveError()?.code == .unsupportedURL, "\(address)")
        }
        let task = session.webSocketTask(with: server.webSocketURL(), protocols: ["a\r\nb"])
        task.resume()
        #expect(await task.receiveError()?.code == .badURL)
    }

    @Test("Errors name the URL that the program has asked for", arguments: ["ws", "wss", "http", "https"])
    func failingURL(scheme: String) async throws {
        let refusing = try LoopbackServer { _ in .text("no", status: 404) }
        defer { refusing.stop() }
        let port = try LoopbackServer.refusingPort()
        let (closed, open) = ("\(scheme)://127.0.0.1:\(port)/a?b", "\(scheme)://127.0.0.1:\(refusing.port)/")
        // Over TLS, this server would be silent.
        let refusals = scheme.hasSuffix("s") && scheme != "ws" ? [] : [(open, false)]
        for (address, isCancelled) in [(closed, false), (closed, true)] + refusals {
            let url = try #require(URL(string: address))
            let delegate = WebSocketDelegate()
            let session = URLSession.forTest(delegate: delegate)
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: url)
            let errors = Watched<[(any Error)?]>([])
            task.send(.string("a")) { error in errors.update { $0.append(error) } }
            task.sendPing { error in errors.update { $0.append(error) } }
            task.resume()
            if isCancelled { task.cancel() }
            let received = await task.receiveError()
            try await errors.wait { $0.count == 2 }
            try await delegate.completion()
            for error in errors.value + [received, task.error, delegate.error] {
                let error = try #require(error as? URLError)
                #expect(error.failingURL == url)
                #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
                #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == address)
            }
        }
    }

    @Test("After a redirect, errors name the URL that it leads to, with the scheme of a web socket")
    func failingURLAfterRedirect() async throws {
        let target = try LoopbackServer.refusingPort()
        let server = try LoopbackServer { _ in .redirect(to: "http://127.0.0.1:\(target)/there") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        #expect(await task.receiveError()?.failingURL?.absoluteString == "ws://127.0.0.1:\(target)/there")
    }

    @Test(
        "An open web socket shows in the session's connections, and takes a place only if that is wanted",
        arguments: [false, true]
    )
    func places(counts: Bool) async throws {
        let server = try LoopbackServer { $0.path == "/" ? .webSocketEcho($0) : .text("a") }
        defer { server.stop() }
        let delegate = WebSocketDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.httpMaximumConnectionsPerHost = 1
            $0.curl.webSockets.countInConnectionLimits = counts
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await delegate.opening()
        let before = try #require(await session.connections.first)
        #expect(before.open == 1 && before.inUse == 1)
        #expect(before.running == (counts ? 1 : 0))
        async let result = session.load(server.url("/other"))
        if counts {
            var waiting = 0
            while waiting == 0 { waiting = await session.connections.first?.waiting ?? 0 }
            task.cancel()
        }
        #expect(await result.text == "a")
        if !counts {
            try await task.send(.string("still there"))
            #expect(try await task.receiveText() == "still there")
        }
    }

    @Test("A web socket's metrics tell when it was opened, and its trace what was said until then")
    func metricsAndTrace() async throws {
        let server = try LoopbackServer { .webSocketEcho($0) }
        defer { server.stop() }
        let lines = Watched<[String]>([])
        let delegate = MetricsDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            var trace = CurlOptions.Trace { _, event in lines.update { $0.append("\(event.kind) \(event.text)") } }
            trace.includesBodies = true
            $0.curl.trace = trace
        }
        defer { session.invalidateAndCancel() }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("a"))
        #expect(try await task.receiveText() == "a")
        task.cancel(with: .normalClosure, reason: nil)
        try await delegate.metrics.wait { $0 != nil }
        let hop = try #require(delegate.metrics.value?.transactionMetrics.first)
        let start = try #require(hop.requestStartDate)
        #expect(try #require(hop.connectEndDate) <= start)
        #expect(start <= (try #require(hop.responseStartDate)))
        #expect((hop.response as? HTTPURLResponse)?.statusCode == 101)
        // The trace has a queue of its own.
        try await lines.wait { lines in
            ["headerOut GET / HTTP/1.1", "headerIn HTTP/1.1 101"].allSatisfy { start in
                lines.contains { $0.hasPrefix(start) }
            }
        }
        #expect(!lines.value.contains { line in ["body", "text reached"].contains { line.hasPrefix($0) } })
    }
}

private final class MetricsDelegate: NSObject, URLSessionTaskDelegate {
    let metrics = Watched<URLSessionTaskMetrics?>(nil)

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.update { $0 = metrics }
    }
}
