import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Cookies", .timeLimit(.minutes(1)))
struct CookieTests {
    /// Sets these cookies on /set, and answers with the request's cookies elsewhere.
    private static func server(_ cookies: String...) throws -> LoopbackServer {
        try LoopbackServer { request in
            guard request.path == "/set" else { return .text(request.header("Cookie") ?? "none") }
            return cookies.reduce(LoopbackServer.Response.text("set")) { $0.header("Set-Cookie", $1) }
        }
    }

    private static func stored(_ name: String, value: String = "stored", domain: String = "127.0.0.1") throws
        -> HTTPCookie
    {
        try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: domain, .path: "/"]))
    }

    // MARK: - From response to request

    @Test("A cookie that a response sets is sent with the next request")
    func roundTrip() async throws {
        let rig = try Rig(Self.server("a=1; Path=/", "b=2; Path=/; Expires=Sun, 06 Nov 2094 08:49:37 GMT"))
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/set"))
        #expect(await rig.session.load(rig.url("/get")).text == "a=1; b=2")
    }

    @Test(
        "A cookie is in the storage when its response's handler or awaiting task goes on",
        arguments: ["handler", "data", "bytes", "download", "upload"]
    )
    func visibleAtCompletion(kind: String) async throws {
        let rig = try Rig(Self.server("a=1"))
        defer { rig.stop() }
        let url = rig.url("/set")
        switch kind {
        case "handler": _ = await rig.session.load(url)
        case "data": _ = try await rig.session.data(from: url)
        case "bytes": _ = try await rig.session.bytes(from: url)
        case "download": try await FileManager.default.removeItem(at: rig.session.download(from: url).0)
        default: _ = try await rig.session.upload(for: URLRequest(url, method: "POST"), from: Data("x".utf8))
        }
        #expect(rig.session.configuration.httpCookieStorage?.cookies?.map(\.name) == ["a"])
    }

    @Test("A cookie is in the storage when the delegate hears of its response")
    func visibleToDelegate() async throws {
        let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        let names = Watched<[String]>([])
        let delegate = RecordingDelegate(onEvent: { _, event in
            guard case .response = event else { return }
            names.update { $0 = storage.cookies?.map(\.name) ?? [] }
        })
        let rig = try Rig(Self.server("a=1"), delegate: delegate) { $0.httpCookieStorage = storage }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/set"))
        task.resume()
        try await delegate.success(of: task)
        #expect(names.value == ["a"])
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
    }

    @Test("Errors' responses set cookies as well", arguments: [401, 404, 500])
    func errorStatus(status: Int) async throws {
        let rig = try Rig { _ in .status(status).header("Set-Cookie", "a=1") }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).response?.statusCode == status)
        #expect(rig.session.configuration.httpCookieStorage?.cookies?.map(\.name) == ["a"])
    }

    @Test("An expired cookie takes back the one before it")
    func deletion() async throws {
        let rig = try Rig { request in
            .text(request.header("Cookie") ?? "none")
                .header("Set-Cookie", request.path == "/unset" ? "a=; Max-Age=0; Path=/" : "a=1; Path=/")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/set")).text == "none")
        #expect(await rig.session.load(rig.url("/unset")).text == "a=1")
        #expect(await rig.session.load(rig.url("/get")).text == "none")
    }

    @Test("Domain and path decide where a cookie goes")
    func matching() async throws {
        let rig = try Rig { request in
            .text(request.header("Cookie") ?? "none").headers([
                "Set-Cookie": "deep=1", "set-cookie": "foreign=1; Domain=example.com", "SET-COOKIE": "secure=1; Secure",
            ])
        }
        defer { rig.stop() }
        _ = await rig.session.load(rig.url("/a/set"))
        #expect(await rig.session.load(rig.url("/a/b/c")).text == "deep=1")
        #expect(await rig.session.load(rig.url("/ab")).text == "none")
        let elsewhere = try #require(URL(string: "http://localhost:\(rig.server.port)/a/b"))
        #expect(await rig.session.load(elsewhere).text == "none")
    }

    @Test("A cookie that a program has stored goes out with the very next request")
    func storedByProgram() async throws {
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        for number in 1...20 {
            let cookie = try Self.stored("a", value: "\(number)")
            rig.session.configuration.httpCookieStorage?.setCookie(cookie)
            #expect(await rig.session.load(rig.url("/get")).text == "a=\(number)")
        }
    }

    // MARK: - Redirects

    @Test("A cookie set by a redirect goes out with the next hop", arguments: [302, 307])
    func redirect(status: Int) async throws {
        let rig = try Rig { request in
            request.path == "/from"
                ? .redirect(to: "/to", status: status).header("Set-Cookie", "a=1; Path=/")
                : .text(request.header("Cookie") ?? "none")
        }
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"))
        #expect(String(decoding: data, as: UTF8.self) == "a=1")
    }

    @Test("Another host gets its own cookies from the storage, and none of the first")
    func redirectElsewhere() async throws {
        let rig = try Rig { request in
            request.path == "/from"
                ? .redirect(to: "http://localhost:\(request.header("X-Port") ?? "")/to").header(
                    "Set-Cookie",
                    "a=1; Path=/"
                )
                : .text(request.header("Cookie") ?? "none")
        }
        defer { rig.stop() }
        try rig.session.configuration.httpCookieStorage?.setCookie(Self.stored("theirs", domain: "localhost"))
        let headers = ["X-Port": "\(rig.server.port)", "Cookie": "hand=1"]
        let (data, _) = try await rig.session.data(for: URLRequest(rig.url("/from"), headers: headers))
        #expect(rig.server.requests.first?.header("Cookie") == "hand=1")
        #expect(String(decoding: data, as: UTF8.self) == "theirs=stored")
    }

    @Test("Many requests at once, each of which sets cookies, all come to an end")
    func many() async throws {
        let rig = try Rig { request in
            request.path == "/from"
                ? .redirect(to: "/to").header("Set-Cookie", "hop=1; Path=/")
                : .text(request.header("Cookie") ?? "none").header("Set-Cookie", "last=1; Path=/")
        }
        defer { rig.stop() }
        let url = rig.url("/from")
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { await rig.session.load(url).text } }
            return await group.reduce(into: []) { $0.append($1 ?? "failed") }
        }
        #expect(texts.count == 100)
        #expect(texts.allSatisfy { $0.contains("hop=1") })
    }
}
