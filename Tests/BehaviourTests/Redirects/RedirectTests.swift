import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Redirects", .timeLimit(.minutes(1)))
struct RedirectTests {
    struct Rule: CustomTestStringConvertible, Sendable {
        let status: Int
        let method: String
        let next: String
        let keepsBody: Bool

        init(_ status: Int, _ method: String, _ next: String, keepsBody: Bool) {
            self.status = status
            self.method = method
            self.next = next
            self.keepsBody = keepsBody
        }

        var testDescription: String { "\(status): \(method) → \(next)" }
    }

    static let rules: [Rule] = [
        Rule(301, "GET", "GET", keepsBody: false), Rule(301, "HEAD", "HEAD", keepsBody: false),
        Rule(301, "POST", "GET", keepsBody: false), Rule(301, "PUT", "PUT", keepsBody: true),
        Rule(302, "GET", "GET", keepsBody: false), Rule(302, "POST", "GET", keepsBody: false),
        Rule(302, "DELETE", "DELETE", keepsBody: true), Rule(303, "GET", "GET", keepsBody: false),
        Rule(303, "HEAD", "HEAD", keepsBody: false), Rule(303, "POST", "GET", keepsBody: false),
        Rule(303, "PUT", "GET", keepsBody: false), Rule(307, "POST", "POST", keepsBody: true),
        Rule(307, "GET", "GET", keepsBody: false), Rule(308, "POST", "POST", keepsBody: true),
        Rule(308, "PUT", "PUT", keepsBody: true),
    ]

    @Test("The method and the body follow the rules of each status", arguments: rules)
    func methods(rule: Rule) async throws {
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: "/to", status: rule.status) : .text("arrived")
        }
        defer { rig.stop() }
        let body = ["GET", "HEAD"].contains(rule.method) ? nil : Data("body".utf8)
        let headers = body == nil ? [:] : ["Content-Type": "text/plain", "X-Kept": "yes"]
        let request = URLRequest(rig.url("/from"), method: rule.method, headers: headers, body: body)
        let (_, response) = try await rig.session.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let next = try #require(rig.server.requests.last)
        #expect(rig.server.requestCount == 2)
        #expect(next.method == rule.next)
        #expect(next.path == "/to")
        #expect(next.text == (rule.keepsBody ? "body" : ""))
        #expect(next.header("Content-Type") == (rule.keepsBody ? "text/plain" : nil))
        if !rule.keepsBody { #expect(next.header("Content-Length") == nil) }
        if body != nil { #expect(next.header("X-Kept") == "yes") }
    }

    @Test("An upload's data and file are sent again where the method is kept, and left behind where it isn't")
    func uploads() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", Data("file".utf8))
        let rig = try Rig { request in
            switch request.path {
            case "/307": .redirect(to: "/to", status: 307)
            case "/303": .redirect(to: "/to", status: 303)
            default: .text("\(request.method) \(request.text)")
            }
        }
        defer { rig.stop() }
        for (path, method, expected) in [("/307", "PUT", "PUT "), ("/303", "POST", "GET ")] {
            let request = URLRequest(rig.url(path), method: method)
            let keeps = path == "/307"
            let (first, _) = try await rig.session.upload(for: request, from: Data("data".utf8))
            #expect(String(decoding: first, as: UTF8.self) == expected + (keeps ? "data" : ""))
            let (second, _) = try await rig.session.upload(for: request, fromFile: file)
            #expect(String(decoding: second, as: UTF8.self) == expected + (keeps ? "file" : ""))
        }
    }

    struct Target: CustomTestStringConvertible, Sendable {
        let location: String
        let target: String
        var testDescription: String { location }
    }

    @Test(
        "Relative targets are resolved against the redirecting URL",
        arguments: [
            Target(location: "next", target: "/a/b/next"), Target(location: "./next", target: "/a/b/next"),
            Target(location: "../next?x=1", target: "/a/next?x=1"), Target(location: "/next", target: "/next"),
            Target(location: "?x=1", target: "/a/b/c?x=1"), Target(location: "next%2Fone", target: "/a/b/next%2Fone"),
        ]
    )
    func relative(target: Target) async throws {
        let rig = try Rig { request in
            request.target == "/a/b/c?query" ? .redirect(to: target.location) : .text("arrived")
        }
        defer { rig.stop() }
        let (_, response) = try await rig.session.data(from: rig.url("/a/b/c?query"))
        #expect(rig.server.requests.last?.target == target.target)
        #expect(response.url == rig.url(target.target))
    }

    @Test("A target without scheme but with an authority is resolved as well")
    func schemeless() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let rig = try Rig { _ in .redirect(to: "//127.0.0.1:\(other.port)/to") }
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"))
        #expect(data == Data("arrived".utf8))
    }

    @Test("The current request and the response's URL are the last hop's; the original request stays")
    func lastHop() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            switch request.path {
            case "/1": .redirect(to: "/2")
            case "/2": .redirect(to: "/3", status: 307)
            default: .text("arrived")
            }
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/1"))
        task.resume()
        try await delegate.success(of: task)
        #expect(task.originalRequest?.url == rig.url("/1"))
        #expect(task.currentRequest?.url == rig.url("/3"))
        #expect(task.response?.url == rig.url("/3"))
        #expect(delegate.events(of: task) == [.created, .response(status: 200), .data(count: 7), .completed(nil)])
        // On one connection, the redirects' bodies being short.
        #expect(rig.server.connectionCount == 1)
    }

    @Test("Twenty are followed, and the next one fails the task", arguments: [20, 21])
    func limit(count: Int) async throws {
        let rig = try Rig { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < count ? .redirect(to: "/\(number + 1)") : .text("arrived")
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/0"))
        #expect(result.error?.code == (count == 20 ? nil : .httpTooManyRedirects))
        #expect(result.text == (count == 20 ? "arrived" : nil))
        #expect(rig.server.requestCount == 21)
    }

    @Test("A loop ends")
    func loop() async throws {
        let rig = try Rig { .redirect(to: $0.path == "/a" ? "/b" : "/a", status: 308) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/a"))
        #expect(result.error?.code == .httpTooManyRedirects)
        #expect(result.error?.failingURL?.host() == "127.0.0.1")
    }

    @Test(
        "Other schemes are refused",
        arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,x", "javascript:0"]
    )
    func otherSchemes(location: String) async throws {
        let rig = try Rig { _ in .redirect(to: location) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error?.code == .unsupportedURL)
        #expect(result.data == nil)
        #expect(rig.server.requestCount == 1)
    }

    @Test(
        "A response that only looks like a redirect is one like any other",
        arguments: [300, 301, 302, 304, 305, 201]
    )
    func noRedirect(status: Int) async throws {
        let rig = try Rig { request in
            switch status {
            case 301: .text("body", status: 301)
            case 302: .text("body", status: 302).header("Location", "")
            default: .status(status).header("Location", "/elsewhere")
            }
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == status)
        #expect(result.error == nil)
        #expect(rig.server.requestCount == 1)
    }

    @Test("A redirect's body isn't delivered, however long it is", arguments: [10, 10_000_000])
    func bodies(length: Int64) async throws {
        let rig = try Rig { request in
            guard request.path == "/from" else { return .text("arrived") }
            return .body(.generated(length: length), status: 302).header("Location", "/to")
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.text == "arrived")
    }

    @Test("A fragment is not sent, and is inherited by the target that has none")
    func fragments() async throws {
        let rig = try Rig { request in
            switch request.path {
            case "/1": .redirect(to: "/2")
            case "/2": .redirect(to: "/3#own")
            default: .text("arrived")
            }
        }
        defer { rig.stop() }
        let (_, first) = try await rig.session.data(from: rig.url("/2#mine"))
        #expect(first.url == rig.url("/3#own"))
        let (_, second) = try await rig.session.data(from: rig.url("/1#mine"))
        #expect(second.url == rig.url("/3#own"))
        #expect(rig.server.requests.allSatisfy { !$0.target.contains("#") })
    }
}
