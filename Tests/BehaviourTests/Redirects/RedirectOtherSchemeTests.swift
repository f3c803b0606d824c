import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Redirects to schemes to which none may lead", .timeLimit(.minutes(1)))
struct RedirectOtherSchemeTests {
    private static let callback = "myapp://callback?code=abc"

    private static func server(_ location: String = callback) throws -> LoopbackServer {
        try LoopbackServer { request in
            request.path == "/from"
                ? .text("moved", status: 302).header("Location", location) : .text("\(request.method) \(request.path)")
        }
    }

    @Test("A delegate can take the response instead of a redirect to another scheme, and sees no credentials")
    func caught() async throws {
        let delegate = DecidingDelegate(onRedirect: { $0.answer(nil) })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let url = rig.url("/from")
        let request = URLRequest(url, headers: ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Kept": "yes"])

        let task = rig.session.dataTask(with: request)
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 302)
        #expect(delegate.body(of: task) == Data("moved".utf8))
        #expect(task.currentRequest?.url == url)

        let result = await rig.session.load(request)
        #expect(result.response?.statusCode == 302)
        #expect(result.text == "moved")

        let (data, response) = try await rig.session.data(for: request)
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Location") == Self.callback)
        #expect(data == Data("moved".utf8))

        let (uploaded, _) = try await rig.session.upload(for: request, from: Data("body".utf8))
        #expect(uploaded == Data("moved".utf8))

        let (file, _) = try await rig.session.download(for: request)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data("moved".utf8))

        let (bytes, _) = try await rig.session.bytes(for: request)
        var text = ""
        for try await line in bytes.lines { text += line }
        #expect(text == "moved")

        #expect(rig.server.requestCount == 6)
        #expect(
            delegate.redirects.value.map(\.request.url?.absoluteString) == Array(repeating: Self.callback, count: 6)
        )
        #expect(delegate.redirects.value.allSatisfy { $0.request.allHTTPHeaderFields == ["X-Kept": "yes"] })
    }

    @Test(
        "A delegate can't follow a redirect to another scheme, be it with another field or path",
        arguments: ["as it is", "with a field", "elsewhere"],
        ["myapp", "file", "ftp"]
    )
    func followed(answer: String, scheme: String) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file(Data("secret".utf8)).path
        let (host, other) = scheme == "file" ? ("", path) : ("127.0.0.1", "/other")
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            if answer == "with a field" { request.setValue("Bearer a", forHTTPHeaderField: "Authorization") }
            if answer == "elsewhere" { request.url = URL(string: "\(scheme.uppercased())://\(host)\(other)") }
            redirect.answer(request)
        })
        let rig = try Rig(Self.server("\(scheme)://\(host)\(path)"), delegate: delegate)
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil && result.response == nil)
        #expect(rig.server.requestCount == 1)
        #expect(delegate.redirects.value.count == 1)
    }

    @Test("A delegate's own request instead of a redirect to another scheme is sent, and counts as a redirect")
    func elsewhere() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let (from, to) = (server.url("/from"), server.url("/to"))
        let delegate = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: to)) })
        let willing = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: from)) })
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: from, delegate: delegate)
        #expect(data == Data("GET /to".utf8))
        #expect(response.url == to)
        await #expect {
            try await session.data(from: from, delegate: willing)
        } throws: {
            ($0 as? URLError)?.code == .httpTooManyRedirects
        }
        #expect(willing.redirects.value.count == 20)
    }

    @Test("A redirect to another scheme that the delegate leads elsewhere leaves no older response in the cache")
    func elsewhereFromCache() async throws {
        let server = try LoopbackServer { request in
            switch (request.path, request.ordinal) {
            case ("/from", 2): .redirect(to: Self.callback)
            case ("/from", 1): .text("old").header("Cache-Control", "max-age=1000")
            default: .text("new").header("Cache-Control", "max-age=1000")
            }
        }
        defer { server.stop() }
        let to = server.url("/to")
        let delegate = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: to)) })
        let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = URLSession.forTest(delegate: delegate) { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url("/from"))
        #expect(await session.load(request).text == "old")
        request.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(await session.load(request).text == "new")
        request.cachePolicy = .useProtocolCachePolicy
        #expect(await session.load(request).text == "new")
        #expect(server.requests.map(\.path) == ["/from", "/from", "/to", "/from"])
    }

    @Test("A redirect to another scheme fails the task if the delegate doesn't implement the method")
    func unanswered() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/from"))
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .unsupportedURL)
        #expect(error?.failingURL?.absoluteString == Self.callback)
        #expect(task.response == nil)
    }

    @Test("The connection serves the next task after a delegate has taken the response")
    func connection() async throws {
        let rig = try Rig(Self.server(), delegate: DecidingDelegate(onRedirect: { $0.answer(nil) }))
        defer { rig.stop() }
        for _ in 0..<5 { #expect(await rig.session.load(rig.url("/from")).text == "moved") }
        #expect(rig.server.connectionCount == 1)
    }
}
