import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Async data and upload", .timeLimit(.minutes(1)))
struct AsyncDataTests {
    @Test("data(for:) and data(from:) return the body and the response")
    func data() async throws {
        let rig = try Rig { _ in .generated(length: 500_000, seed: 5) }
        defer { rig.stop() }
        let expected = GeneratedBody.bytes(seed: 5, length: 500_000)
        let (first, firstResponse) = try await rig.session.data(from: rig.url("/a"))
        let (second, secondResponse) = try await rig.session.data(for: URLRequest(rig.url("/b"), method: "POST"))
        #expect(first == expected && second == expected)
        #expect((firstResponse as? HTTPURLResponse)?.statusCode == 200)
        #expect(firstResponse.url == rig.url("/a") && secondResponse.url == rig.url("/b"))
        #expect(rig.server.requests.map(\.method) == ["GET", "POST"])
    }

    @Test("upload(for:from:) and upload(for:fromFile:) send the body and return the answer")
    func upload() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig { .echoBody($0) }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        let (first, _) = try await rig.session.upload(for: request, from: Data("data".utf8))
        let (second, _) = try await rig.session.upload(
            for: request,
            fromFile: directory.file("file", Data("file".utf8))
        )
        #expect(first == Data("data".utf8) && second == Data("file".utf8))
    }

    @Test("Async calls throw what went wrong, and don't depend on the delegate queue")
    func failure() async throws {
        let server = try LoopbackServer { request in
            request.path == "/" ? .fault(.insideBody(after: 1, of: 2)) : .text("hello")
        }
        defer { server.stop() }
        let gate = Gate()
        defer { gate.open() }
        let session = URLSession.forTest()
        session.delegateQueue.addOperation { gate.waitBlocking() }
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/")) }
        #expect(error?.code == .networkConnectionLost)
        let (data, _) = try await session.data(from: server.url("/other"))
        #expect(data == Data("hello".utf8))
    }

    @Test("Many at once each get their own answer")
    func concurrently() async throws {
        let rig = try Rig { .text($0.path) }
        defer { rig.stop() }
        try await withThrowingTaskGroup(of: (Int, Data).self) { group in
            for index in 0..<100 {
                group.addTask { (index, try await rig.session.data(from: rig.url("/\(index)")).0) }
            }
            for try await (index, data) in group { #expect(data == Data("/\(index)".utf8)) }
        }
    }

    @Test("A session that only an async call uses lives to its end, and goes away after it")
    func sessionLifetime() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (data, _) = try await URLSession.forTest().data(from: server.url("/"))
        #expect(data == Data("hello".utf8))
        try await server.waitUntilNoConnections()
    }
}
