import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Informational responses", .timeLimit(.minutes(1)))
struct InformationalResponseTests {
    static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nLink: </b.js>\r\n\r\n"
    static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    @Test("Informational responses come before the response, each with its own fields")
    func order() async throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\n" + Self.hints + Self.answer
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .raw([.bytes(text)]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        let story = try await delegate.completeStory()
        #expect(
            story == [
                "created", "informational 100", "informational 103", "response", "data", "metrics", "completed",
            ]
        )
        let hints = try #require(delegate.record.value.informational.last)
        #expect(hints.value(forHTTPHeaderField: "link") == "</a.css>, </b.js>")
        #expect(hints.url == rig.url("/"))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect((task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Link") == nil)
    }

    @Test("Informational responses come as soon as the server sends them")
    func early() async throws {
        let gate = Gate()
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in .raw([.bytes(Self.hints), .waitFor(gate), .bytes(Self.answer)]) }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.wait(for: "informational 103")
        #expect(delegate.story == ["created", "informational 103"])
        gate.open()
        #expect(try await delegate.completeStory().last == "completed")
    }

    @Test(
        "The delegates of async calls and of handlers' tasks hear of informational responses too",
        arguments: [true, false]
    )
    func others(isAsync: Bool) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: isAsync ? nil : delegate) { _ in .raw([.bytes(Self.hints + Self.answer)]) }
        defer { rig.stop() }
        if isAsync {
            let (data, _) = try await rig.session.data(from: rig.url("/"), delegate: delegate)
            #expect(data == Data("hello".utf8))
        } else {
            let result = await rig.session.load(rig.url("/"))
            #expect(result.text == "hello")
        }
        #expect(delegate.story == ["created", "informational 103"] + (isAsync ? ["data"] : []) + ["metrics"])
    }

    @Test("101 is no informational response but the last word of HTTP on its connection")
    func switching() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .raw([.bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n"), .close])
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        _ = try await delegate.completeStory()
        #expect(delegate.record.value.informational.isEmpty)
    }

    @Test("101 is a response, though nothing follows it", arguments: ["GET", "HEAD"])
    func switchedToNothing(method: String) async throws {
        let rig = try Rig { _ in
            .raw([.bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n"), .close])
        }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), method: method))
        #expect(result.response?.statusCode == 101)
        #expect(result.data == Data())
        #expect(result.error == nil)
    }

    @Test("A redirect's hints are of the redirect's URL")
    func redirected() async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { request in
            let redirect = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
            return .raw([.bytes(Self.hints + (request.path == "/a" ? redirect : Self.answer))])
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/a")).resume()
        _ = try await delegate.completeStory()
        #expect(delegate.record.value.informational.map(\.url) == [rig.url("/a"), rig.url("/b")])
    }
}
