import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Bodies that only the end of a connection with TLS delimits", .timeLimit(.minutes(1)))
struct TLSTruncationTests {
    private static let versions = ["-tls1_2", "-tls1_3"]

    @Test(
        "A body that only the end of TLS delimits is incomplete if the connection is cut, and isn't stored",
        arguments: versions
    )
    func cut(version: String) async throws {
        let server = try await TalkingTLSServer([version])
        defer { server.stop() }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = server.session(cache)
        defer { session.invalidateAndCancel() }
        async let result = session.load(server.url)
        try await server.waitForRequest()
        server.say("HTTP/1.1 200 OK\nCache-Control: max-age=600\n\nhello")
        // Without a word, as an attacker on the way would do it.
        server.stop()
        #expect(await result.error?.code == .networkConnectionLost)
        #expect(cache.cachedResponse(for: URLRequest(url: server.url)) == nil)
    }

    @Test(
        "A body that answers a request with Upgrade, and that only the end of TLS delimits, is incomplete if the connection is cut",
        arguments: versions,
        ["101 Switching Protocols", "200 OK"]
    )
    func upgrade(version: String, status: String) async throws {
        let server = try await TalkingTLSServer([version])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = server.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url)
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        let task = session.dataTask(with: request)
        task.resume()
        try await server.waitForRequest()
        server.say("HTTP/1.1 \(status)\n\nhello")
        try await delegate.wait(for: task, bytes: 6)
        server.stop()
        #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
    }

    @Test("A body that only the end of TLS delimits is complete if the server ends TLS", arguments: versions)
    func end(version: String) async throws {
        let directory = try TemporaryDirectory()
        _ = try directory.file("answer", Data("HTTP/1.1 200 OK\r\n\r\nhello".utf8))
        // It sends files as whole answers, and ends TLS after them.
        let server = try await TalkingTLSServer([version, "-HTTP"], in: directory)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url.appendingPathComponent("answer"))
        #expect(result.text == "hello")
        #expect(result.error == nil)
    }

    @Test("A body whose length is known needs no end of TLS", arguments: versions)
    func length(version: String) async throws {
        let server = try await TalkingTLSServer([version])
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        async let result = session.load(server.url)
        try await server.waitForRequest()
        server.say("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 6\n\nhello")
        #expect(await result.text == "hello\n")
        server.stop()
    }
}
