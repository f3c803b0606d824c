import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A resumed download continues where it was", .timeLimit(.minutes(1)))
struct ResumeContinuationTests {
    static let rest = ResumeOrigin.length - ResumeOrigin.heldAt

    @Test("The delegate of a resumed download hears of the offset first, then of the new bytes")
    func delegate() async throws {
        let origin = try ResumeOrigin()
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.story == ["created", "resumed", "wrote", "finished downloading", "completed"])
        #expect(resumed.events[1] == .resumed(offset: ResumeOrigin.heldAt, expected: ResumeOrigin.length))
        var total = ResumeOrigin.heldAt
        for case .wrote(let count, let newTotal, let expected) in resumed.events {
            total += count
            #expect(newTotal == total)
            #expect(expected == ResumeOrigin.length)
        }
        #expect(total == ResumeOrigin.length)
        #expect((resumed.task.response as? HTTPURLResponse)?.statusCode == 206)
        #expect(resumed.task.countOfBytesReceived == ResumeOrigin.length)
        #expect(resumed.task.countOfBytesExpectedToReceive == ResumeOrigin.length)
    }

    @Test("A resumed download transfers no byte twice")
    func onlyTheRest() async throws {
        let origin = try ResumeOrigin()
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect((Self.rest..<Self.rest + 1000).contains(origin.server.bytesSent(inAnswerTo: 2)))
    }

    @Test("The completion handler of a resumed download gets the whole file")
    func handler() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let session = URLSession.forDownloads(to: paused.directory)
        let result = await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: paused.resumeData) {
                continuation.resume(returning: DownloadResult($0, $1, $2))
            }.resume()
        }
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 206)
        #expect(result.content == ResumeOrigin.bytes)
    }

    @Test("The async caller of a resumed download gets the whole file")
    func async() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let session = URLSession.forDownloads(to: paused.directory)
        let (file, response) = try await session.download(resumeFrom: paused.resumeData)
        #expect((response as? HTTPURLResponse)?.statusCode == 206)
        #expect(try Data(contentsOf: file) == ResumeOrigin.bytes)
        #expect(paused.directory.content == [file.lastPathComponent])
    }

    @Test("A delegate that is passed to the async method hears only of the bytes that this download writes")
    func asyncDelegate() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let session = URLSession.forDownloads(to: paused.directory)
        let delegate = RecordingDelegate()
        _ = try await session.download(resumeFrom: paused.resumeData, delegate: delegate)
        var written = ResumeOrigin.heldAt
        for case .wrote(let growth, let total, _) in delegate.entries.map(\.event) {
            written += growth
            #expect(total == written)
        }
        #expect(written == ResumeOrigin.length)
    }

    @Test("Parts of a whole whose length the server doesn't know are asked for until there is no more")
    func partsOfUnknownLength() async throws {
        let origin = try ResumeOrigin(isChunked: true) { request in
            guard let range = request.header("Range"), let start = Int64(range.dropFirst(6).dropLast()) else {
                return .status(500)
            }
            let end = min(start + 100_000, ResumeOrigin.length)
            // RFC 9110 §14.4, §15.5.17
            guard start < end else { return .status(416).header("Content-Range", "bytes */*") }
            return LoopbackServer.Response.pieces([.body(ResumeOrigin.body[start..<end])])
                .header("ETag", ResumeOrigin.etag).partial("bytes \(start)-\(end - 1)/*")
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(origin.server.requestCount == 5)
    }

    @Test("More bytes than a part was said to have are none of the file's")
    func longPart() async throws {
        let origin = try ResumeOrigin { request in
            guard request.ordinal == 2 else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            let start = ResumeOrigin.heldAt
            let parts: [LoopbackServer.Step] = [
                .body(ResumeOrigin.body[start..<200_000]), .body(ResumeOrigin.changedBody[200_000..<250_000]),
            ]
            return LoopbackServer.Response.pieces(parts).header("ETag", ResumeOrigin.etag)
                .partial("bytes \(start)-199999/400000")
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
    }

    @Test("A resumed download leaves neither the old partial file nor the new one behind")
    func noLitter() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        #expect(try await paused.resume().error == nil)
        #expect(paused.directory.content == [])
    }

    @Test("A download can be paused as often as one likes, and leaves one partial file at a time")
    func severalPauses() async throws {
        let gate = Gate()
        let stops: [Int64] = [ResumeOrigin.heldAt, 150_001, 275_000, 399_999]
        let origin = try ResumeOrigin { request in
            guard request.ordinal <= stops.count else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            let (start, end) = (stops[request.ordinal - 2], stops[request.ordinal - 1])
            return LoopbackServer.Response.pieces([
                .body(ResumeOrigin.body[start..<end]), .waitFor(gate),
                .body(ResumeOrigin.body[end..<ResumeOrigin.length]),
            ]).header("ETag", ResumeOrigin.etag).partial("bytes \(start)-399999/400000")
        }
        let paused = try await PausedDownload(from: origin)
        var data = paused.resumeData
        for stop in stops.dropFirst() {
            let delegate = RecordingDelegate()
            let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
            let task = session.downloadTask(withResumeData: data)
            task.resume()
            try await delegate.wait(for: task) { $0.isWritten(upTo: stop) }
            data = try #require(await task.cancelByProducingResumeData())
            let file = try Data(contentsOf: paused.partialFile)
            #expect(file == ResumeOrigin.bytes.prefix(Int(stop)))
        }
        let resumed = try await paused.resume(data)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.events.contains(.resumed(offset: 399_999, expected: ResumeOrigin.length)))
        #expect(paused.directory.content == [])
    }

    @Test(
        "A partial answer need not repeat the validator (RFC 9110 §15.3.7), and can be paused all the same",
        arguments: ["Last-Modified", "ETag"]
    )
    func pauseAfterBareAnswer(field: String) async throws {
        let gate = Gate()
        let isTag = field == "ETag"
        let validator = isTag ? ResumeOrigin.etag : ResumeOrigin.lastModified
        let origin = try ResumeOrigin(first: [field: validator]) { request in
            let start: Int64 = request.ordinal == 2 ? ResumeOrigin.heldAt : 200_000
            let rest = LoopbackServer.Response.pieces([
                .body(ResumeOrigin.body[start..<200_000]), .waitFor(gate),
                .body(ResumeOrigin.body[200_000..<ResumeOrigin.length]),
            ]).partial("bytes \(start)-399999/400000")
            // A client that has a tag sends no date instead (§13.1.5).
            return isTag ? rest.header("Last-Modified", ResumeOrigin.lastModified) : rest
        }
        let paused = try await PausedDownload(from: origin)
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        let task = session.downloadTask(withResumeData: paused.resumeData)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: 200_000) }
        let data = try #require(await task.cancelByProducingResumeData())
        gate.open()
        let resumed = try await paused.resume(data)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(origin.server.requests.last?.header("If-Range") == validator)
    }

    @Test("The complete length may stay unknown")
    func unknownLength() async throws {
        let origin = try ResumeOrigin { request in
            let range = "bytes \(ResumeOrigin.heldAt)-\(ResumeOrigin.length - 1)/*"
            return LoopbackServer.Response.body(ResumeOrigin.body[ResumeOrigin.heldAt..<ResumeOrigin.length])
                .header("ETag", ResumeOrigin.etag).partial(range)
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect(resumed.hasContinued)
        #expect(resumed.body == ResumeOrigin.bytes)
    }

    @Test("A download that was paused at its first byte starts from zero")
    func nothingYet() async throws {
        let origin = try ResumeOrigin(heldAt: 0)
        let directory = try TemporaryDirectory()
        let session = URLSession.forDownloads(to: directory)
        let task = session.downloadTask(with: origin.url)
        task.resume()
        try await eventually { task.response != nil }
        let data = try #require(await task.cancelByProducingResumeData())
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(!resumed.hasContinued)
        #expect(directory.content == [])
    }

    @Test("The session's own fields, credentials among them, go with the resuming request")
    func newSession() async throws {
        let origin = try ResumeOrigin()
        let paused = try await PausedDownload(from: origin)
        let session = URLSession.forDownloads(to: paused.directory) {
            $0.httpAdditionalHeaders = ["Authorization": "Bearer new"]
        }
        let (file, _) = try await session.download(resumeFrom: paused.resumeData)
        #expect(try Data(contentsOf: file) == ResumeOrigin.bytes)
        #expect(origin.server.requests[1].header("Authorization") == "Bearer new")
    }
}
