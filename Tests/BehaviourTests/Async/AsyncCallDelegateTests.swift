import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Delegates that are passed to async calls", .timeLimit(.minutes(1)))
struct AsyncCallDelegateTests {
    private static let body = GeneratedBody.bytes(seed: 3, length: 700_000)

    private static func server() throws -> LoopbackServer {
        try LoopbackServer { _ in .generated(length: 700_000, seed: 3) }
    }

    @Test("A delegate passed to data(from:) gets all the data before the call returns, and the session's gets none")
    func data() async throws {
        let (sessions, own) = (RecordingDelegate(), RecordingDelegate())
        let rig = try Rig(Self.server(), delegate: sessions)
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/"), delegate: own)
        #expect(data == Self.body)
        #expect(own.onlyBody == Self.body)
        #expect(Set(own.entries.map(\.event.name)) == ["created", "data"])
        #expect(sessions.entries.isEmpty)
    }

    @Test("A delegate passed to download(from:) hears of all that is written, and the session's hears of nothing")
    func download() async throws {
        let (sessions, own) = (RecordingDelegate(), RecordingDelegate())
        let rig = try Rig(Self.server(), delegate: sessions)
        defer { rig.stop() }
        let (file, _) = try await rig.session.download(from: rig.url("/"), delegate: own)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Self.body)
        var written: Int64 = 0
        for case .wrote(let growth, let total, let expected) in own.entries.map(\.event) {
            written += growth
            #expect(total == written && expected == 700_000)
        }
        #expect(written == 700_000)
        #expect(Set(own.entries.map(\.event.name)) == ["created", "wrote"])
        #expect(sessions.entries.isEmpty)
    }

    @Test("A delegate passed to bytes(from:) gets the data that the reader gets")
    func bytes() async throws {
        let own = RecordingDelegate()
        let rig = try Rig(Self.server())
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"), delegate: own)
        var read = Data()
        for try await chunk in bytes.chunks { read += chunk }
        #expect(read == Self.body)
        try await own.wait(forOnlyBodyOf: 700_000)
        #expect(own.onlyBody == Self.body)
    }

    @Test("What a delegate passed to an async call doesn't implement isn't passed on to the session's delegate")
    func notPassedOn() async throws {
        final class Bare: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
            func urlSession(
                _ session: URLSession,
                downloadTask: URLSessionDownloadTask,
                didFinishDownloadingTo location: URL
            ) {}
        }
        let sessions = RecordingDelegate()
        let rig = try Rig(Self.server(), delegate: sessions)
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"), delegate: Bare())
        let (file, _) = try await rig.session.download(from: rig.url("/"), delegate: Bare())
        try FileManager.default.removeItem(at: file)
        #expect(Set(sessions.entries.map(\.event.name)) == ["created"])
    }

    @Test("A slow delegate passed to an async call holds up the transfer, and nothing is lost")
    func pace() async throws {
        let gate = Gate()
        let own = RecordingDelegate(onEvent: { _, event in if case .data = event { gate.waitBlocking() } })
        let rig = try Rig { _ in .generated(length: 20_000_000, seed: 3) }
        defer { rig.stop() }
        let call = Task { try await rig.session.data(from: rig.url("/"), delegate: own) }
        try await own.wait(for: "data")
        let task = try #require(await rig.session.allTasks.first)
        #expect(task.countOfBytesReceived < 20_000_000)
        gate.open()
        let (data, _) = try await call.value
        #expect(data.count == 20_000_000)
        #expect(own.onlyBody == data)
    }
}
