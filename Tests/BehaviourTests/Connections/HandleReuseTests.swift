import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Requests of different kinds, one after the other", .timeLimit(.minutes(1)))
struct HandleReuseTests {
    @Test("No request inherits anything of the one before")
    func sequence() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        var post = URLRequest(url: rig.url("/post"))
        post.httpMethod = "POST"
        post.httpBody = Data("body".utf8)
        var head = URLRequest(url: rig.url("/head"))
        head.httpMethod = "HEAD"
        var marked = URLRequest(url: rig.url("/marked"))
        marked.setValue("yes", forHTTPHeaderField: "X-Mark")
        var deletion = URLRequest(url: rig.url("/deletion"))
        deletion.httpMethod = "DELETE"
        let kinds = [URLRequest(url: rig.url("/get")), marked, head, post, deletion]
        // Every kind behind every other.
        let requests = kinds.flatMap { first in kinds.flatMap { [first, $0] } }
        for request in requests {
            let (data, response) = try await rig.session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == (request.httpMethod == "HEAD" ? "" : "hello"))
        }
        for (request, seen) in zip(requests, rig.server.requests) {
            #expect(seen.method == request.httpMethod)
            #expect(seen.path == request.url?.path)
            #expect(seen.body == request.httpBody ?? Data())
            #expect(seen.headers(named: "X-Mark").first == request.value(forHTTPHeaderField: "X-Mark"))
            #expect((!seen.headers(named: "Content-Length").isEmpty) == (request.httpBody != nil))
        }
        #expect(rig.server.requestCount == requests.count)
        #expect(rig.server.connectionCount == 1)
    }

    @Test(
        "A request that asks for its connection to be closed is the last one on it, whatever the server says",
        arguments: ["close", "Keep-Alive, CLOSE"]
    )
    func lastRequest(value: String) async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        for _ in 0..<2 {
            _ = try await rig.session.data(for: URLRequest(rig.url("/"), headers: ["connection": value]))
        }
        #expect(rig.server.connectionCount == 2)
        for option in ["keep-alive", "closed"] {
            _ = try await rig.session.data(for: URLRequest(rig.url("/"), headers: ["Connection": option]))
        }
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(rig.server.connectionCount == 3)
    }

    @Test("A handle's memory is kept for the next one, unless the address sanitizer watches it")
    func keptMemory() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        // In a process of its own: in this one, the stock module may have initialised libcurl.
        let helper = try ChildProcess([TestHelper.path(), "kept-memory", server.url("/").absoluteString])
        let lines = await helper.remainingLines()
        let kept = try #require(lines.first)
        #expect(ProcessUsage.isAddressSanitized == (kept == "none"))
        #expect(kept == "none" || (Int(kept) ?? 0) > 5000)
    }

    /// libcurl 7.88.1 appends such a field to one of the handle's last response, which is freed memory:
    /// https://github.com/curl/curl/issues/11101
    @Test("A response whose first field begins with a space harms no other on a kept connection")
    func foldedFirstField() async throws {
        let rig = try Rig { request in
            request.path == "/folded"
                ? .raw([.bytes("HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 2\r\n\r\nok")]) : .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        for _ in 0..<20 {
            #expect(await rig.session.load(rig.url("/")).text == "hello")
            let folded = await rig.session.load(rig.url("/folded"))
            // Newer versions of libcurl leave the space out.
            #expect(folded.text == "ok" || folded.error?.code == .badServerResponse)
            #expect(folded.error?.localizedDescription.contains("bad argument") != true)
        }
        #expect(rig.server.requestCount == 40)
    }

    @Test("Credentials of one URL don't go out with the next")
    func credentials() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.useOneConnection()
            $0.urlCredentialStorage = nil
        }
        defer { rig.stop() }
        var components = try #require(URLComponents(url: rig.url("/private/"), resolvingAgainstBaseURL: false))
        (components.user, components.password) = ("me", "secret")
        _ = try await rig.session.data(from: try #require(components.url))
        _ = try await rig.session.data(from: rig.url("/public/"))
        #expect(rig.server.requests.map { !$0.headers(named: "Authorization").isEmpty } == [true, false])
    }
}
