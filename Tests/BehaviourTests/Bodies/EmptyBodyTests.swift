import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Responses without a body", .timeLimit(.minutes(1)))
struct EmptyBodyTests {
    @Test(
        "Responses without a body give empty data, not nil",
        arguments: [("GET", 200), ("GET", 204), ("GET", 304), ("HEAD", 200)]
    )
    func emptyData(method: String, status: Int) async throws {
        let rig = try Rig { _ in
            method == "HEAD" ? .generated(length: 5000) : .status(status).header("ETag", "\"a\"")
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: method)
        let result = await rig.session.load(request)
        #expect(result.data == Data())
        #expect(result.error == nil)
        #expect(result.response?.statusCode == status)
        let (data, _) = try await rig.session.data(for: request)
        #expect(data == Data())
        // No byte was left on the connection.
        #expect(rig.server.connectionCount == 1)
    }

    @Test("HEAD tells the length that GET would have")
    func head() async throws {
        let rig = try Rig { _ in .generated(length: 5000) }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), method: "HEAD"))
        #expect(result.response?.expectedContentLength == 5000)
        #expect(rig.server.requests[0].method == "HEAD")
    }

    @Test("A delegate hears of the response and the end, and of no data")
    func delegate() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .status(204) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.events(of: task) == [.created, .response(status: 204), .completed(nil)])
    }

    @Test("A body of no bytes is empty data", arguments: [true, false])
    func emptyBody(isChunked: Bool) async throws {
        let rig = try Rig { _ in isChunked ? .chunked([String]()) : .text("") }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.data == Data())
        #expect(result.error == nil)
    }

    @Test("Informational responses are not the response")
    func informational() async throws {
        let rig = try Rig { _ in
            .text("hello").after([
                .bytes("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"),
                .bytes("HTTP/1.1 102 Processing\r\n\r\n"),
            ])
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.value(forHTTPHeaderField: "Link") == nil)
        #expect(result.text == "hello")
    }
}
