import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Redirects that a program's own protocol class reports", .timeLimit(.minutes(1)))
struct ProtocolRedirectTests {
    /// Sends "/from" to "/to"; every other path is answered.
    private static let network = { @Sendable in
        MockNetwork { load in
            guard load.request.url?.path == "/from" else { return load.answer("arrived") }
            load.redirect(to: load.request.url.flatMap { URL(string: "/to", relativeTo: $0)?.absoluteURL })
            // As the documentation's own example does it.
            load.fail(CocoaError(.userCancelled))
        }
    }

    @Test("A class's redirect is followed, the class asked anew, and the object told to stop")
    func followed() async throws {
        let network = Self.network()
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: network.url("/from"))
        #expect(data == Data("arrived".utf8))
        #expect(response.url == network.url("/to"))
        #expect(network.requests.value.map(\.url) == [network.url("/from"), network.url("/to")])
        try await network.stops.wait { $0 == 2 }
    }

    @Test(
        "The delegate is asked about a class's redirect on its queue, and follows, changes or refuses it",
        arguments: ["follow", "change", "refuse"]
    )
    func delegate(answer: String) async throws {
        let network = Self.network()
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            if answer == "change" { request.url = network.url("/elsewhere") }
            redirect.answer(answer == "refuse" ? nil : request)
            // Only the first answer counts.
            redirect.answer(nil)
        })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url("/from"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        let redirect = try await delegate.redirect(number: 1)
        #expect(redirect.queue === session.delegateQueue)
        #expect(redirect.response.statusCode == 302)
        #expect(redirect.request.url == network.url("/to"))
        #expect(delegate.redirects.value.count == 1)
        let status = (task.response as? HTTPURLResponse)?.statusCode
        if answer == "refuse" {
            #expect(status == 302)
            #expect(delegate.body(of: task) == nil)
            #expect(task.currentRequest?.url == network.url("/from"))
            #expect(network.requests.value.count == 1)
        } else {
            #expect(status == 200)
            #expect(delegate.body(of: task) == Data("arrived".utf8))
            #expect(task.currentRequest?.url == network.url(answer == "change" ? "/elsewhere" : "/to"))
        }
    }

    @Test("A refused redirect is the response of async calls, handlers and downloads")
    func refused() async throws {
        let network = Self.network()
        let session = network.session(delegate: DecidingDelegate(onRedirect: { $0.answer(nil) }))
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: network.url("/from"))
        #expect((response as? HTTPURLResponse)?.statusCode == 302)
        #expect(data.isEmpty)
        #expect(await session.load(network.url("/from")).response?.statusCode == 302)
        let (file, _) = try await session.download(from: network.url("/from"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file).isEmpty)
    }

    @Test("The task can be suspended and cancelled while the delegate thinks")
    func whileAsked() async throws {
        let network = Self.network()
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (first, second) = (
            session.dataTask(with: network.url("/from")), session.dataTask(with: network.url("/from"))
        )
        first.resume()
        let redirect = try await delegate.redirect(number: 1)
        first.suspend()
        redirect.answer(redirect.request)
        first.resume()
        #expect(try await delegate.completion(of: first) == nil)
        second.resume()
        _ = try await delegate.redirect(number: 2)
        second.cancel()
        #expect(try await delegate.completion(of: second)?.code == .cancelled)
        #expect(network.requests.value.count == 3)
    }

    @Test("A class's redirect may lead to the network, and from there on the network's rules hold")
    func toNetwork() async throws {
        let server = try LoopbackServer { request in
            request.path == "/"
                ? .redirect(to: "/next") : .text("real, as \(request.header("Authorization") ?? "nobody")")
        }
        defer { server.stop() }
        let target = server.url("/")
        let network = MockNetwork { $0.redirect(to: target) }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(network.url(), headers: ["Authorization": "Bearer secret"])
        let (data, response) = try await session.data(for: request)
        #expect(data == Data("real, as nobody".utf8))
        #expect(response.url == server.url("/next"))
        #expect(server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test("A request made out of the one that was seen takes neither cookies nor the session's credentials elsewhere")
    func takenOver() async throws {
        let server = try LoopbackServer { request in
            .text(
                "\(request.header("Authorization") ?? "-") \(request.header("Cookie") ?? "-") \(request.header("X-S") ?? "-")"
            )
        }
        defer { server.stop() }
        let target = server.url("/")
        let network = MockNetwork { $0.redirect(to: target) }
        let session = network.session {
            $0.httpAdditionalHeaders = ["Authorization": "Bearer secret", "X-S": "yes"]
        }
        defer { session.invalidateAndCancel() }
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: "1", .domain: network.host, .path: "/"])
        )
        session.configuration.httpCookieStorage?.setCookie(cookie)
        let request = URLRequest(network.url(), headers: ["Cookie": "own=2"])
        #expect(await session.load(request).text == "- - yes")
        #expect(network.requests.value[0].value(forHTTPHeaderField: "Cookie") == "own=2; a=1")
        #expect(network.requests.value[0].value(forHTTPHeaderField: "Authorization") == "Bearer secret")
    }

    @Test(
        "A class gets no stream that was already read: the delegate is asked for another, and without one the task fails",
        arguments: ["server", "class"],
        [true, false]
    )
    func readStream(source: String, hasAnother: Bool) async throws {
        let network = MockNetwork { load in
            let body = String(decoding: load.request.allBody, as: UTF8.self)
            guard load.request.url?.path == "/from" else { return load.answer(body) }
            load.redirect(
                to: load.request.url.flatMap { URL(string: "/to", relativeTo: $0)?.absoluteURL },
                status: 307
            )
        }
        let target = network.url("/to").absoluteString
        let server = try LoopbackServer { _ in .redirect(to: target, status: 307) }
        defer { server.stop() }
        let delegate = StreamSource { _ in hasAnother ? InputStream(data: Data("another".utf8)) : nil }
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(source == "server" ? server.url("/from") : network.url("/from"), method: "POST")
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        session.dataTask(with: request).resume()
        #expect(try await delegate.completion()?.code == (hasAnother ? nil : .requestBodyStreamExhausted))
        #expect(delegate.record.value.asked == 1)
        #expect(delegate.record.value.body == Data((hasAnother ? "another" : "").utf8))
        #expect(network.requests.value.filter { $0.url == network.url("/to") }.count == (hasAnother ? 1 : 0))
    }

    @Test(
        "A class gets a body only with a request whose redirect has kept it, whether a server redirects or a class",
        arguments: ["server", "class"],
        [302, 303, 307]
    )
    func droppedBody(source: String, status: Int) async throws {
        let network = MockNetwork { load in
            guard load.request.url?.path == "/from", let response = load.response(status) else {
                let body = String(decoding: load.request.allBody, as: UTF8.self)
                return load.answer("\(load.request.httpMethod ?? "-") \(body)")
            }
            var next = load.request
            next.url = URL(string: "/to", relativeTo: load.request.url)?.absoluteURL
            if status != 307 {
                next.httpMethod = "GET"
                next.httpBody = nil
                next.httpBodyStream = nil
            }
            load.client?.urlProtocol(load, wasRedirectedTo: next, redirectResponse: response)
        }
        let target = network.url("/to").absoluteString
        let server = try LoopbackServer { _ in .redirect(to: target, status: status) }
        defer { server.stop() }
        let delegate = StreamSource { _ in InputStream(data: Data("body".utf8)) }
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let directory = try TemporaryDirectory()
        let file = try directory.file(Data("body".utf8))
        let request = URLRequest(source == "server" ? server.url("/from") : network.url("/from"), method: "POST")
        let expected = Data((status == 307 ? "POST body" : "GET ").utf8)
        session.uploadTask(withStreamedRequest: request).resume()
        #expect(try await delegate.completion() == nil)
        #expect(delegate.record.value.body == expected)
        #expect(delegate.record.value.asked == (status == 307 ? 2 : 1))
        #expect(try await session.upload(for: request, from: Data("body".utf8)).0 == expected)
        #expect(try await session.upload(for: request, fromFile: file).0 == expected)
    }

    @Test("A class's redirects end after twenty")
    func tooMany() async throws {
        let network = MockNetwork { $0.redirect(to: $0.request.url) }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).error?.code == .httpTooManyRedirects)
        #expect(network.requests.value.count == 21)
    }

    @Test(
        "A class's redirect can't lead to files, Unix sockets or unknown schemes",
        arguments: [
            "file:///etc/passwd", "data:,a", "x://a/", "http+unix://%2Frun%2Fnobody.sock/", "https+unix://%40nobody/",
            "http://socket.test/",
        ]
    )
    func elsewhere(target: String) async throws {
        let network = MockNetwork { $0.redirect(to: URL(string: target)) }
        let session = network.session {
            $0.curl.hosts["socket.test"].names.unixSocket = .path("/run/nobody.sock")
        }
        defer { session.invalidateAndCancel() }
        let result = await session.load(network.url())
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil)
    }

    @Test(
        "A delegate leads where it wants with a URL of its own, from a class's redirect and from a server's",
        arguments: [false, true]
    )
    func chosen(isServers: Bool) async throws {
        let server = try LoopbackServer { _ in .redirect(to: "/to") }
        defer { server.stop() }
        let network = Self.network()
        let local = try #require(URL(string: "data:,local"))
        let delegate = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: local)) })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: isServers ? server.url("/from") : network.url("/from"))
        #expect(data == Data("local".utf8))
        #expect(response.url == local)
        #expect(network.requests.value.count == (isServers ? 0 : 1))
    }

    @Test("A URL that the delegate leaves as it is stays the class's")
    func unchanged() async throws {
        let network = MockNetwork { $0.redirect(to: URL(string: "data:,local")) }
        let delegate = DecidingDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).error?.code == .unsupportedURL)
        #expect(delegate.redirects.value.count == 1)
        #expect(network.requests.value.count == 1)
    }

    @Test("A class's redirect without a URL fails the task")
    func nowhere() async throws {
        let network = MockNetwork { $0.redirect(to: nil) }
        let session = network.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).error?.code == .redirectToNonExistentLocation)
    }

    @Test("Metrics have one transaction per hop")
    func metrics() async throws {
        let network = Self.network()
        let delegate = TimelineDelegate()
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: network.url("/from")).resume()
        let story = try await delegate.completeStory()
        #expect(story == ["created", "redirect", "response", "data", "metrics", "completed"])
        let metrics = try await delegate.metrics()
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 200])
    }
}
