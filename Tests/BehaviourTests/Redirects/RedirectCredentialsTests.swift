import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Credentials and redirects", .timeLimit(.minutes(1)))
struct RedirectCredentialsTests {
    private static let secrets = [
        "Authorization": "Bearer secret", "Cookie": "a=secret", "Proxy-Authorization": "Basic secret",
    ]

    @Test("The request's credentials are not shown to another origin; its other headers are", arguments: [302, 307])
    func stripped(status: Int) async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let rig = try Rig { _ in .redirect(to: other.url("/to"), status: status) }
        defer { rig.stop() }
        var headers = Self.secrets
        headers["X-Other"] = "kept"
        _ = try await rig.session.data(for: URLRequest(rig.url("/from"), headers: headers))
        #expect(rig.server.requests[0].header("Authorization") == "Bearer secret")
        #expect(rig.server.requests[0].header("Cookie") == "a=secret")
        for name in Self.secrets.keys { #expect(other.requests[0].header(name) == nil) }
        #expect(other.requests[0].header("X-Other") == "kept")
        #expect(other.requests[0].header("Host") == "127.0.0.1:\(other.port)")
    }

    @Test("A field that the request has in several spellings is sent in one, and isn't shown to another origin in any")
    func spellings() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: other.url("/to"), status: 307) : .redirect(to: "/from", status: 307)
        }
        defer { rig.stop() }
        for _ in 0..<10 {
            let headers = [
                "Authorization": "Bearer 1", "authorization": "Bearer 2", "AUTHORIZATION": "Bearer 3", "cookie": "a=4",
                "Cookie": "a=5",
            ]
            var request = URLRequest(url: rig.url("/"))
            request.allHTTPHeaderFields = headers
            let task = rig.session.dataTask(with: request)
            #expect(task.originalRequest?.allHTTPHeaderFields == ["AUTHORIZATION": "Bearer 3", "Cookie": "a=5"])
            let delegate = RecordingDelegate()
            task.delegate = delegate
            task.resume()
            try await delegate.success(of: task)
        }
        #expect(rig.server.requests.allSatisfy { $0.headers(named: "Authorization") == ["Bearer 3"] })
        #expect(rig.server.requests.allSatisfy { $0.headers(named: "Cookie") == ["a=5"] })
        #expect(other.requests.count == 10)
        #expect(other.requests.allSatisfy { $0.header("Authorization") == nil && $0.header("Cookie") == nil })
    }

    @Test("A request of the delegate's that has a field in several spellings is sent with one")
    func spellingsOfDelegate() async throws {
        let rig = try Rig { $0.path == "/from" ? .redirect(to: "/to") : .text("arrived") }
        defer { rig.stop() }
        var request = URLRequest(url: rig.url("/to"))
        request.allHTTPHeaderFields = ["x-a": "1", "X-A": "2"]
        let delegate = DecidingDelegate(onRedirect: { [request] in $0.answer(request) })
        let task = rig.session.dataTask(with: rig.url("/from"))
        task.delegate = delegate
        task.resume()
        try await delegate.success(of: task)
        #expect(rig.server.requests.last?.headers(named: "X-A") == ["2"])
    }

    @Test("The configuration's credentials are not shown to another origin either")
    func additionalHeaders() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let rig = try Rig { _ in
            .redirect(to: other.url("/to"))
        } configure: {
            let others = ["X-Other": "kept", "Referer": "https://example.com/"]
            $0.httpAdditionalHeaders = Self.secrets.merging(others) { first, _ in first }
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/from"))
        #expect(rig.server.requests[0].header("Authorization") == "Bearer secret")
        for name in Self.secrets.keys { #expect(other.requests[0].header(name) == nil) }
        #expect(other.requests[0].header("X-Other") == "kept")
        #expect(other.requests[0].header("Referer") == "https://example.com/")
    }

    @Test("The URL's user name and password are not shown to another origin")
    func userInformation() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let rig = try Rig { _ in .redirect(to: other.url("/to")) }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://user:secret@127.0.0.1:\(rig.server.port)/from"))
        _ = try await rig.session.data(from: url)
        #expect(rig.server.requests[0].header("Authorization") != nil)
        #expect(other.requests[0].header("Authorization") == nil)
    }

    @Test(
        "A URL's user name and password stay within the origin, whatever form Location has",
        arguments: ["relative", "absolute", "with its own"]
    )
    func userInformationWithinOrigin(form: String) async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/from" else { return .text("arrived") }
            let host = request.header("Host") ?? ""
            return switch form {
            case "relative": .redirect(to: "/to")
            case "absolute": .redirect(to: "http://\(host)/to")
            default: .redirect(to: "http://other@\(host)/to")
            }
        }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://us%40er:secret@127.0.0.1:\(rig.server.port)/from"))
        let task = rig.session.dataTask(with: url)
        task.resume()
        try await delegate.success(of: task)
        let credentials = form == "with its own" ? ["us@er:secret", "other:"] : ["us@er:secret", "us@er:secret"]
        #expect(
            rig.server.requests.map { $0.header("Authorization") }
                == credentials.map { "Basic " + Data($0.utf8).base64EncodedString() }
        )
        let target = "http://\(form == "with its own" ? "other" : "us%40er:secret")@127.0.0.1:\(rig.server.port)/to"
        #expect(task.currentRequest?.url?.absoluteString == target)
        #expect(task.response?.url?.absoluteString == target)
    }

    @Test("The request's credentials stay within the origin, but for Proxy-Authorization")
    func sameOrigin() async throws {
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: "/to") : .text("arrived")
        }
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/from"), headers: Self.secrets))
        for (name, value) in Self.secrets {
            #expect(rig.server.requests[1].header(name) == (name == "Proxy-Authorization" ? nil : value))
        }
    }

    @Test("The request's credentials don't come back when redirects lead back to the origin")
    func thereAndBack() async throws {
        let server = try LoopbackServer { request in
            request.path == "/from"
                ? .redirect(to: request.parameter("via") ?? "/") : .text("arrived")
        }
        defer { server.stop() }
        let back = server.url("/back")
        let other = try LoopbackServer { _ in .redirect(to: back) }
        defer { other.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = server.url("/from?via=http://127.0.0.1:\(other.port)/")
        _ = try await session.data(for: URLRequest(url, headers: Self.secrets))
        #expect(server.requests.map(\.path) == ["/from", "/back"])
        for name in Self.secrets.keys { #expect(server.requests[1].header(name) == nil) }
    }
}
