import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("What the delegate makes of a redirect", .timeLimit(.minutes(1)))
struct RedirectDelegateTests {
    static func server(status: Int = 302, body: String = "moved") throws -> LoopbackServer {
        try LoopbackServer { request in
            switch request.path {
            case "/from": .text(body, status: status).header("Location", "/to?x=1#part")
            default: .text("\(request.method) \(request.path) \(request.text)")
            }
        }
    }

    /// A new task for /from, and its redirect, about which the delegate has been asked.
    private static func redirected(
        _ rig: Rig,
        _ delegate: DecidingDelegate
    ) async throws -> (task: URLSessionDataTask, redirect: DecidingDelegate.Redirect) {
        let task = rig.session.dataTask(with: rig.url("/from"))
        task.resume()
        return (task, try await delegate.redirect(number: 1))
    }

    @Test("The delegate is asked on its queue, with the response and the request as it will be sent")
    func question() async throws {
        let delegate = DecidingDelegate()
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let request = URLRequest(
            rig.url("/from"),
            method: "POST",
            headers: ["X-Kept": "yes", "Content-Type": "text/plain"],
            body: Data("body".utf8)
        )
        let task = rig.session.dataTask(with: request)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        let redirect = try await delegate.redirect(number: 1)
        #expect(redirect.queue === rig.session.delegateQueue)
        #expect(redirect.response.statusCode == 302)
        #expect(redirect.response.url == rig.url("/from"))
        #expect(redirect.request.url == rig.url("/to?x=1#part"))
        #expect(redirect.request.httpMethod == "GET")
        #expect(redirect.request.httpBody == nil)
        #expect(redirect.request.allHTTPHeaderFields == ["X-Kept": "yes"])
        #expect(delegate.redirects.value.count == 1)
        #expect(delegate.body(of: task) == Data("GET /to ".utf8))
        #expect(task.currentRequest?.url == rig.url("/to?x=1#part"))
    }

    @Test(
        "A changed request's stream is sent, whatever body came before",
        arguments: ["none", "data", "stream"],
        [302, 307]
    )
    func stream(before: String, status: Int) async throws {
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            request.httpMethod = "PUT"
            request.httpBodyStream = InputStream(data: Data("new".utf8))
            redirect.answer(request)
        })
        let rig = try Rig(Self.server(status: status), delegate: delegate)
        defer { rig.stop() }
        var request = URLRequest(rig.url("/from"), method: before == "none" ? "GET" : "POST")
        if before == "data" { request.httpBody = Data("old".utf8) }
        if before == "stream" { request.httpBodyStream = InputStream(data: Data("old".utf8)) }
        let task = rig.session.dataTask(with: request)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("PUT /to new".utf8))
    }

    @Test(
        "A changed request's data is sent, or nothing if it has none, whatever body came before",
        arguments: ["none", "data", "stream"],
        [true, false]
    )
    func body(before: String, hasData: Bool) async throws {
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = URLRequest(redirect.request.url ?? URL(fileURLWithPath: "/"), method: "PUT")
            if hasData { request.httpBody = Data("new".utf8) }
            redirect.answer(request)
        })
        let rig = try Rig(Self.server(status: 307), delegate: delegate)
        defer { rig.stop() }
        var request = URLRequest(rig.url("/from"), method: before == "none" ? "GET" : "POST")
        if before == "data" { request.httpBody = Data("old".utf8) }
        if before == "stream" { request.httpBodyStream = InputStream(data: Data("old".utf8)) }
        let task = rig.session.dataTask(with: request)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data(hasData ? "PUT /to new".utf8 : "PUT /to ".utf8))
    }

    @Test("A request that the delegate has changed is sent instead")
    func changed() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let other = server.url("/other")
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            request.url = other
            request.httpMethod = "PUT"
            request.httpBody = Data("new".utf8)
            request.setValue("added", forHTTPHeaderField: "X-Added")
            redirect.answer(request)
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: server.url("/from"))
        #expect(data == Data("PUT /other new".utf8))
        #expect(response.url == other)
        #expect(server.requests.last?.header("X-Added") == "added")
    }

    @Test("Only the delegate can lead to a resource of this machine, and gets it", arguments: [true, false])
    func local(isFile: Bool) async throws {
        let directory = try TemporaryDirectory()
        let local = try isFile ? directory.file(Data("local".utf8)) : #require(URL(string: "data:,local"))
        let delegate = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: local)) })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let (data, response) = try await rig.session.data(from: rig.url("/from"))
        #expect(data == Data("local".utf8))
        #expect(response.url == local)
        #expect(rig.server.requestCount == 1)
    }

    @Test(
        "Answering nil makes the redirect the response, for tasks of every kind",
        arguments: [301, 302, 303, 307, 308]
    )
    func refused(status: Int) async throws {
        let delegate = DecidingDelegate(onRedirect: { $0.answer(nil) })
        let rig = try Rig(Self.server(status: status), delegate: delegate)
        defer { rig.stop() }
        let url = rig.url("/from")

        let task = rig.session.dataTask(with: url)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == status)
        #expect(delegate.body(of: task) == Data("moved".utf8))
        #expect(task.currentRequest?.url == url)

        let result = await rig.session.load(url)
        #expect(result.response?.statusCode == status)
        #expect(result.text == "moved")

        let (data, response) = try await rig.session.data(from: url)
        #expect((response as? HTTPURLResponse)?.statusCode == status)
        #expect(data == Data("moved".utf8))

        let (file, _) = try await rig.session.download(from: url)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("moved".utf8))

        let (bytes, _) = try await rig.session.bytes(from: url)
        var text = ""
        for try await line in bytes.lines { text += line }
        #expect(text == "moved")
        #expect(rig.server.requests.allSatisfy { $0.path == "/from" })
        #expect(rig.server.requestCount == 5)
    }

    @Test("A refused redirect without a body is the response as well", arguments: ["", "HEAD"])
    func refusedWithoutBody(method: String) async throws {
        let rig = try Rig(delegate: DecidingDelegate(onRedirect: { $0.answer(nil) })) { _ in .redirect(to: "/to") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), method: method.isEmpty ? "GET" : method)
        let result = await rig.session.load(request)
        #expect(result.response?.statusCode == 302)
        #expect(result.data == Data())
    }

    @Test("The answer may come later, from anywhere; until then nothing is sent, and little is read")
    func later() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text("arrived") }
            return .body(.generated(length: 100_000_000), status: 302).header("Location", "/to")
        }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        try await rig.server.waitUntilBlocked()
        #expect(rig.server.requestCount == 1)
        #expect(task.state == .running)
        #expect(task.response == nil)
        DispatchQueue.global().async { redirect.answer(redirect.request) }
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("arrived".utf8))
    }

    @Test(
        "A redirect that is over leaves its connection to other requests until the delegate answers",
        arguments: ["", "moved"],
        [true, false]
    )
    func leavesConnection(body: String, isFollowed: Bool) async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(Self.server(body: body), delegate: delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        let (data, _) = try await rig.session.data(from: rig.url("/other"))
        #expect(data == Data("GET /other ".utf8))
        redirect.answer(isFollowed ? redirect.request : nil)
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) ?? Data() == Data((isFollowed ? "GET /to " : body).utf8))
        #expect(rig.server.connectionCount == 1)
    }

    @Test("So does one that is over only after the delegate was asked", arguments: [true, false])
    func leavesConnectionLater(isFollowed: Bool) async throws {
        let gate = Gate()
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text(request.path) }
            return .raw([.bytes(Self.unfinished), .waitFor(gate), .bytes("ved")])
        } configure: {
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        gate.open()
        #expect(await rig.session.load(rig.url("/other")).text == "/other")
        redirect.answer(isFollowed ? redirect.request : nil)
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data((isFollowed ? "/to" : "moved").utf8))
        #expect(rig.server.connectionCount == 1)
    }

    /// A redirect without the last three bytes of its body.
    private static let unfinished = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 5\r\n\r\nmo"

    @Test(
        "One that breaks off leaves its place to other requests as well",
        arguments: ["", "half"],
        [true, false]
    )
    func leavesPlace(body: String, isFollowed: Bool) async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text(request.path) }
            let head = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 10\r\n\r\n"
            return .raw([.bytes(head + body), .close])
        } configure: {
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        #expect(await rig.session.load(rig.url("/other")).text == "/other")
        redirect.answer(isFollowed ? redirect.request : nil)
        #expect(try await delegate.completion(of: task)?.code == (isFollowed ? nil : .networkConnectionLost))
        if isFollowed { #expect(delegate.body(of: task) == Data("/to".utf8)) }
    }

    @Test("The idle time-out, which stops until the delegate answers, then holds for the rest of a refused redirect")
    func idleTime() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/from" ? .raw([.bytes(Self.unfinished), .never]) : .never
        } configure: {
            $0.timeoutIntervalForRequest = 1
        }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        // By then the first task's idle time would be over, too.
        #expect(await rig.session.load(rig.url("/other")).error?.code == .timedOut)
        redirect.answer(nil)
        #expect(try await delegate.completion(of: task)?.code == .timedOut)
        #expect(delegate.body(of: task) == Data("mo".utf8))
    }

    @Test("A refused redirect's encoded body, which was kept back, is decoded", arguments: [true, false])
    func laterDecoded(isComplete: Bool) async throws {
        let body = isComplete ? CodedBodies.gzip : CodedBodies.gzip.dropLast(8)
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text("other") }
            return .data(Data(body), status: 302).headers(["Location": "/to", "Content-Encoding": "gzip"])
        } configure: {
            $0.httpMaximumConnectionsPerHost = 1
        }
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        // The redirect has arrived as a whole.
        #expect(try await rig.session.data(from: rig.url("/")).0 == Data("other".utf8))
        redirect.answer(nil)
        let error = try await delegate.completion(of: task)
        #expect(error?.code == (isComplete ? nil : .cannotDecodeRawData))
        #expect(delegate.body(of: task) == CodedBodies.text)
    }

    @Test(
        "A request that has waited for the delegate's answer goes before those that were made after it",
        arguments: ["", "moved"]
    )
    func keepsTurn(body: String) async throws {
        let (gate, other) = (Gate(), try LoopbackServer { _ in .text("other") })
        defer { other.stop() }
        let server = try LoopbackServer { request in
            switch request.path {
            case "/from": .text(body, status: 302).header("Location", "/to")
            case "/slow": .text("slow").after([.waitFor(gate)])
            default: .text("fast")
            }
        }
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = Rig(server, delegate: delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        defer { rig.stop() }
        let tasks = ["/from", "/slow", "/later"].map { rig.session.dataTask(with: rig.url($0)) }
        for task in tasks { task.resume() }
        let redirect = try await delegate.redirect(number: 1)
        try await server.waitForRequests(2)
        redirect.answer(redirect.request)
        // The answer arrives on the event loop meanwhile.
        for _ in 0..<2 { #expect(await rig.session.load(other.url("/")).text == "other") }
        gate.open()
        for task in tasks { #expect(try await delegate.completion(of: task) == nil) }
        #expect(server.requests.map(\.path) == ["/from", "/slow", "/to", "/later"])
    }

    @Test("A refused redirect's large body, which was kept back, is delivered whole")
    func laterRefused() async throws {
        let body = GeneratedBody.bytes(seed: 3, length: 5_000_000)
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { _ in .data(body, status: 302).header("Location", "/to") }
        defer { rig.stop() }
        async let result = rig.session.data(from: rig.url("/from"))
        let redirect = try await delegate.redirect(number: 1)
        try await rig.server.waitUntilBlocked()
        redirect.answer(nil)
        let (data, _) = try await result
        #expect(data == body)
    }

    @Test(
        "A refused redirect's body that came at once on a kept connection is delivered whole",
        arguments: [true, false]
    )
    func laterRefusedOnKeptConnection(isUnix: Bool) async throws {
        let body = GeneratedBody.bytes(seed: 4, length: 60_000)
        let delegate = DecidingDelegate(onRedirect: { redirect in onOtherThread { redirect.answer(nil) } })
        let name = LoopbackServer.UnixSocket.abstract("CurlNetworking \(UUID().uuidString)")
        let server =
            try isUnix
            ? LoopbackServer(unixSocket: name) { Self.kept($0, body) } : LoopbackServer { Self.kept($0, body) }
        defer { server.stop() }
        let session = URLSession.forTest(delegate: delegate) { $0.useOneConnection() }
        defer { session.invalidateAndCancel() }
        // Whether libcurl finds the answer as it sends the request is luck.
        for _ in 0..<100 {
            #expect(await session.load(server.url("/")).error == nil)
            #expect(await session.load(server.url("/from")).data == body)
        }
    }

    /// A redirect whose body ends with its connection, and a response that keeps it.
    private static func kept(_ request: LoopbackServer.Request, _ body: Data) -> LoopbackServer.Response {
        guard request.path == "/from" else { return .text("kept") }
        return .raw([.bytes("HTTP/1.1 302 Found\r\nLocation: /to\r\n\r\n"), .bytes(body), .close])
    }

    @Test("A body that was kept back and is refused by libcurl holds up nothing", arguments: [true, false])
    func refusedBody(isFollowed: Bool) async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text("arrived") }
            // A trailer field with a NUL, which libcurl before 8 can't keep.
            let body = "5\r\nhello\r\n0\r\n\0X-A: b\r\n\r\n"
            return .raw([.bytes("HTTP/1.1 302 Found\r\nLocation: /to\r\nTransfer-Encoding: chunked\r\n\r\n" + body)])
        } configure: {
            // On a kept connection, no timer of connecting makes libcurl look again.
            $0.useOneConnection()
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).error == nil)
        async let result = rig.session.load(URLRequest(rig.url("/from"), timeout: 5))
        let redirect = try await delegate.redirect(number: 1)
        redirect.answer(isFollowed ? redirect.request : nil)
        if isFollowed {
            #expect(await result.text == "arrived")
        } else {
            #expect(await result.error?.code == .badServerResponse)
        }
    }

    @Test("Only the first answer about a redirect counts")
    func twice() async throws {
        let delegate = DecidingDelegate(onRedirect: { redirect in
            redirect.answer(nil)
            redirect.answer(redirect.request)
        })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"))
        #expect(data == Data("moved".utf8))
        delegate.redirects.value[0].answer(nil)
        let (again, _) = try await rig.session.data(from: rig.url("/to"))
        #expect(again == Data("GET /to ".utf8))
        #expect(rig.server.requests.map(\.path) == ["/from", "/to"])
    }

    @Test("The delegate is asked at every hop")
    func hops() async throws {
        let delegate = DecidingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < 3 ? .redirect(to: "/\(number + 1)") : .text("arrived")
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/0"))
        #expect(delegate.redirects.value.map(\.response.url) == ["/0", "/1", "/2"].map(rig.server.url))
    }

    @Test("Too many redirects end the task, however willing the delegate is")
    func tooMany() async throws {
        let delegate = DecidingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .redirect(to: "/") }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .httpTooManyRedirects)
        #expect(delegate.redirects.value.count == 20)
    }

    @Test("A redirect that breaks off after it was refused is an error")
    func brokenOff() async throws {
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 10\r\n\r\nhalf"), .close])
        }
        defer { server.stop() }
        let refusing = URLSession.forTest(delegate: DecidingDelegate(onRedirect: { $0.answer(nil) }))
        defer { refusing.invalidateAndCancel() }
        let result = await refusing.load(server.url("/from"))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(result.response?.statusCode == 302)
    }

    @Test("A suspended task gets the body of a redirect that was refused once it is resumed")
    func suspendedAndRefused() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        task.suspend()
        redirect.answer(nil)
        // The session's tasks are served in turn.
        _ = try await rig.session.data(from: rig.url("/to"))
        #expect(delegate.body(of: task) == nil)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("moved".utf8))
    }

    @Test("A suspended task waits with what was decided")
    func suspended() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let (task, redirect) = try await Self.redirected(rig, delegate)
        task.suspend()
        redirect.answer(redirect.request)
        // Another task of the session gets through meanwhile.
        _ = try await rig.session.data(from: rig.url("/to"))
        #expect(rig.server.requestCount == 2)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(rig.server.requestCount == 3)
    }
}
