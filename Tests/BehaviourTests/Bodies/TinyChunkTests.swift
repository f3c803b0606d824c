import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Bodies in chunks of a byte", .timeLimit(.minutes(1)))
struct TinyChunkTests {
    private static let content = GeneratedBody.bytes(seed: 6, length: 100_000)

    /// Written at once, so that libcurl reads as many chunks as it can.
    private static let message: Data = {
        var message = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for byte in content { message += Data("1\r\n".utf8) + [byte] + Data("\r\n".utf8) }
        return message + Data("0\r\n\r\n".utf8)
    }()

    private static func rig(_ delegate: (any URLSessionDelegate)? = nil) throws -> Rig {
        try Rig(delegate: delegate) { _ in .raw([.bytes(message)]) }
    }

    @Test("Chunks of a byte arrive whole in memory, in a file and byte by byte, and don't hold up other tasks")
    func whole() async throws {
        let rig = try Self.rig()
        defer { rig.stop() }
        let other = try Rig { _ in .text("hello") }
        defer { other.stop() }
        async let data = rig.session.data(from: rig.url("/")).0
        async let file = rig.session.download(from: rig.url("/")).0
        async let bytes = rig.session.bytes(from: rig.url("/")).0.reduce(into: Data()) { $0.append($1) }
        for _ in 0..<20 { #expect(await rig.session.load(other.url("/")).text == "hello") }
        #expect(try await data == Self.content)
        #expect(try await bytes == Self.content)
        #expect(try Data(contentsOf: await file) == Self.content)
    }

    @Test("Chunks of a byte reach a delegate whole, even if the task is suspended again and again")
    func delegate() async throws {
        let delegate = RecordingDelegate()
        let rig = try Self.rig(delegate)
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        for _ in 0..<50 {
            task.suspend()
            task.resume()
        }
        try await delegate.record.wait { !$0.completions.isEmpty }
        #expect(delegate.onlyBody == Self.content)
    }
}
