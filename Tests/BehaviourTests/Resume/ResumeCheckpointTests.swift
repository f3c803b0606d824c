import CurlNetworking
import Foundation
import TestSupport
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("A checkpoint of a download", .timeLimit(.minutes(1)))
struct ResumeCheckpointTests {
    private let directory: TemporaryDirectory
    private let delegate = RecordingDelegate()
    private let session: URLSession

    init() throws {
        directory = try TemporaryDirectory()
        session = URLSession.forDownloads(to: directory, delegate: delegate)
    }

    /// A download that has written what the server has sent so far.
    private func task(from origin: ResumeOrigin, at offset: Int64 = ResumeOrigin.heldAt) async throws
        -> URLSessionDownloadTask
    {
        let task = session.downloadTask(with: origin.url)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: offset) }
        return task
    }

    @Test("A checkpoint is resumed from with all that was written, and the download it was taken of goes on")
    func taking() async throws {
        let origin = try ResumeOrigin()
        defer { origin.server.stop() }
        let task = try await task(from: origin)
        let checkpoint = try #require(await task.checkpoint())
        #expect(task.state == .running)

        let resumed = try await ResumedDownload(checkpoint, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(origin.server.requests.last?.header("Range") == "bytes=\(ResumeOrigin.heldAt)-")
        #expect(origin.server.requests.last?.header("If-Range") == ResumeOrigin.etag)

        origin.gate.open()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == ResumeOrigin.bytes)
        #expect(directory.content == [])
    }

    @Test("A checkpoint covers what is written after it was taken, too")
    func growing() async throws {
        let (first, second): (Int64, Int64) = (20_000, 300_000)
        let gates = [Gate(), Gate()]
        defer { for gate in gates { gate.open() } }
        let server = try LoopbackServer { request in
            guard request.ordinal == 1 else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            return .pieces([
                .body(ResumeOrigin.body[0..<first]), .waitFor(gates[0]),
                .body(ResumeOrigin.body[first..<second]), .waitFor(gates[1]),
                .body(ResumeOrigin.body[second..<ResumeOrigin.length]),
            ]).header("ETag", ResumeOrigin.etag)
        }
        defer { server.stop() }
        let task = session.downloadTask(with: server.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: first) }
        let checkpoint = try #require(await task.checkpoint())
        gates[0].open()
        try await delegate.wait(for: task) { $0.isWritten(upTo: second) }

        let resumed = try await ResumedDownload(checkpoint, in: directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(server.requests.last?.header("Range") == "bytes=\(second)-")
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("A checkpoint that is resumed from removes what its download was itself resumed from, and not before")
    func superseding() async throws {
        let gate = Gate()
        defer { gate.open() }
        let origin = try ResumeOrigin { request in
            guard let range = request.header("Range"), range == "bytes=\(ResumeOrigin.heldAt)-" else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            let (from, to) = (ResumeOrigin.heldAt, ResumeOrigin.length)
            return .pieces([
                .body(ResumeOrigin.body[from..<from + 10_000]), .waitFor(gate),
                .body(ResumeOrigin.body[from + 10_000..<to]),
            ]).header("ETag", ResumeOrigin.etag).partial("bytes \(from)-\(to - 1)/\(to)")
        }
        defer { origin.server.stop() }
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt + 10_000) }
        // As another process would, since this one is killed here.
        let checkpoint = try #require(await task.checkpoint())
        #expect(paused.directory.content.count == 2)
        let resumed = try await ResumedDownload(checkpoint, in: paused.directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(paused.directory.content.count == 1, "only the running one's is left")
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("A checkpoint starts from zero once its download was cancelled")
    func cancelled() async throws {
        let origin = try ResumeOrigin()
        defer { origin.server.stop() }
        let task = try await task(from: origin)
        let checkpoint = try #require(await task.checkpoint())
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(await task.checkpoint() == nil)
        let resumed = try await ResumedDownload(checkpoint, in: directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(origin.server.requests.last?.header("Range") == nil)
        #expect(directory.content == [])
    }

    @Test("A download that starts over leaves the file that an earlier checkpoint names")
    func startingOver() async throws {
        let gate = Gate()
        let origin = try ResumeOrigin { request in
            if request.header("Range") != nil {
                // The file has changed: all of the new one, which stops in the middle.
                return .pieces([
                    .body(ResumeOrigin.changedBody[0..<200_000]), .waitFor(gate),
                    .body(ResumeOrigin.changedBody[200_000..<ResumeOrigin.length]),
                ]).header("ETag", "\"version-2\"")
            }
            return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
        }
        defer { origin.server.stop() }
        defer { gate.open() }
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        let early = await task.checkpoint()
        #expect(early != nil, "before anything has come it's what it goes on from")
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: 200_000) }
        let checkpoint = try #require(await task.checkpoint())
        #expect(String(decoding: checkpoint, as: UTF8.self).contains("version-2"))
        gate.open()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == ResumeOrigin.changedBytes)
        #expect(paused.directory.content == [])
    }

    @Test("When a download starts over, all that is written counts as new, however much of it is told at once")
    func startingOverAtOnce() async throws {
        let origin = try ResumeOrigin { request in
            // Some more of the file, which has changed when the rest is asked for.
            guard request.ordinal == 2 else {
                return .resource(ResumeOrigin.changedBody, for: request, etag: "\"version-2\"")
            }
            return LoopbackServer.Response.pieces([.body(ResumeOrigin.body[150_000..<160_000])])
                .changing { $0.status = 206 }
                .header("Content-Range", "bytes 150000-159999/400000").header("ETag", ResumeOrigin.etag)
        }
        defer { origin.server.stop() }
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        session.delegateQueue.isSuspended = true
        let task = session.downloadTask(withResumeData: paused.resumeData)
        task.resume()
        try await eventually { task.countOfBytesReceived == ResumeOrigin.length }
        session.delegateQueue.isSuspended = false
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == ResumeOrigin.changedBytes)
        let events = delegate.events(of: task).filter { $0.name == "wrote" || $0.name == "resumed" }
        let expected: [DelegateEvent] = [
            .resumed(offset: 150_000, expected: 400_000), .wrote(400_000, total: 400_000, expected: 400_000),
        ]
        #expect(events == expected)
    }

    @Test("There is no checkpoint before the first byte, and none without a validator")
    func nothing() async throws {
        let unused = session.downloadTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        #expect(await unused.checkpoint() == nil)
        let origin = try ResumeOrigin(first: [:])
        defer { origin.server.stop() }
        let task = try await task(from: origin)
        #expect(await task.checkpoint() == nil)
        origin.gate.open()
        #expect(try await delegate.completion(of: task) == nil)
    }
}
