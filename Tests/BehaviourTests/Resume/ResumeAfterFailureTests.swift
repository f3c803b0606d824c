import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A download that fails in the middle can be resumed", .timeLimit(.minutes(1)))
struct ResumeAfterFailureTests {
    static let endings: [LoopbackServer.Step] = [.close, .reset]

    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func expectResumable(_ error: URLError?) async throws {
        #expect(error?.code == .networkConnectionLost)
        let data = try #require(error?.downloadTaskResumeData)
        #expect(error?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == data)
        #expect(error?.userInfo["NSURLSessionDownloadTaskResumeData"] as? Data == data)
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
        #expect(directory.content == [])
    }

    @Test("A delegate finds a failed download's resume data in the error", arguments: [0, 1])
    func delegate(ending: Int) async throws {
        let origin = try ResumeOrigin(ending: Self.endings[ending])
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: origin.url)
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect((task.error as? URLError)?.downloadTaskResumeData == error?.downloadTaskResumeData)
        try await expectResumable(error)
    }

    @Test("A failed download that is cancelled before its handler is told has resume data in its cancellation")
    func cancelledAfterFailure() async throws {
        let origin = try ResumeOrigin(ending: .close)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession.forDownloads(to: directory, delegateQueue: queue)
        let gate = Gate()
        queue.addOperation { gate.waitBlocking() }
        let errors = Watched<[URLError?]>([])
        let task = session.downloadTask(with: origin.url) { _, _, error in
            errors.update { $0.append(error as? URLError) }
        }
        task.resume()
        // The end is due behind the gate once the partial file is out of use.
        try await eventually { queue.operationCount > 1 }
        task.cancel()
        #expect(task.state == .canceling)
        gate.open()
        try await errors.wait { !$0.isEmpty }
        #expect(errors.value.count == 1)
        let error = errors.value[0]
        #expect(error?.code == .cancelled)
        let resumed = try await ResumedDownload(try #require(error?.downloadTaskResumeData), in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
        #expect(directory.content == [])
    }

    @Test("Bytes written before a failure are told and counted, as many as the resume data continues after")
    func counts() async throws {
        // So little that it waits for the file, and the end comes right after it.
        let origin = try ResumeOrigin(heldAt: 1000, ending: .close)
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        let task = session.downloadTask(with: origin.url)
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect(task.countOfBytesReceived == 1000)
        #expect(delegate.story(of: task) == ["created", "wrote", "completed"])
        #expect(delegate.events(of: task).contains { $0.isWritten(upTo: 1000) })
        try await expectResumable(error)
        #expect(origin.server.requests.last?.header("Range") == "bytes=1000-")
    }

    @Test("A completion handler finds a failed download's resume data in the error", arguments: [0, 1])
    func handler(ending: Int) async throws {
        let origin = try ResumeOrigin(ending: Self.endings[ending])
        let result = await URLSession.forDownloads(to: directory).download(URLRequest(url: origin.url))
        #expect(result.file == nil)
        try await expectResumable(result.error)
    }

    @Test("The caller of an async method finds a failed download's resume data in the error", arguments: [0, 1])
    func async(ending: Int) async throws {
        let origin = try ResumeOrigin(ending: Self.endings[ending])
        let session = URLSession.forDownloads(to: directory)
        let error = await #expect(throws: URLError.self) { try await session.download(from: origin.url) }
        try await expectResumable(error)
    }

    @Test("The time-out of a server that falls silent leaves something to resume from")
    func timeout() async throws {
        let origin = try ResumeOrigin()
        let request = URLRequest(origin.url, timeout: 2)
        let result = await URLSession.forDownloads(to: directory).download(request)
        #expect(result.error?.code == .timedOut)
        let data = try #require(result.error?.downloadTaskResumeData)
        #expect(try await ResumedDownload(data, in: directory).body == ResumeOrigin.bytes)
    }

    @Test("A download that fails again and again completes in the end")
    func againAndAgain() async throws {
        let step: Int64 = 50_000
        let server = try LoopbackServer { request in
            let start = request.header("Range").flatMap { Int64($0.dropFirst(6).dropLast()) } ?? 0
            let end = min(start + step, ResumeOrigin.length)
            var steps: [LoopbackServer.Step] = [.body(ResumeOrigin.body[start..<end])]
            if end < ResumeOrigin.length {
                steps += [.reset, .body(ResumeOrigin.body[end..<ResumeOrigin.length])]
            }
            let response = LoopbackServer.Response.pieces(steps).header("ETag", ResumeOrigin.etag)
            guard start > 0 else { return response }
            return response.partial("bytes \(start)-\(ResumeOrigin.length - 1)/\(ResumeOrigin.length)")
        }
        let session = URLSession.forDownloads(to: directory)
        var error = await session.download(URLRequest(url: server.url("/"))).error
        var failures = 1
        while let data = error?.downloadTaskResumeData {
            let resumed = try await ResumedDownload(data, in: directory)
            error = resumed.error
            guard resumed.error == nil else {
                failures += 1
                continue
            }
            #expect(resumed.body == ResumeOrigin.bytes)
        }
        #expect(error == nil)
        #expect(failures == 7)
        #expect(directory.content == [])
        #expect(server.bytesSent < ResumeOrigin.length + 10_000)
    }

    @Test("A server that is gone when a download is resumed leaves the resume data as good as before")
    func serverGone() async throws {
        let origin = try ResumeOrigin()
        let paused = try await PausedDownload(from: origin)
        origin.server.stop()
        let failed = try await paused.resume()
        #expect(failed.error?.code == .cannotConnectToHost)
        let data = try #require(failed.error?.downloadTaskResumeData)
        let server = try LoopbackServer(port: origin.server.port) {
            .resource(ResumeOrigin.body, for: $0, etag: ResumeOrigin.etag)
        }
        let resumed = try await paused.resume(data)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
        server.stop()
    }

    @Test("A server in trouble has its answer delivered, and the resume data stay good", arguments: [503, 404, 401])
    func serverInTrouble(status: Int) async throws {
        let origin = try ResumeOrigin { request in
            request.ordinal == 2
                ? .text("Not now", status: status)
                : .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
        }
        let paused = try await PausedDownload(from: origin)
        let answered = try await paused.resume()
        #expect(answered.error == nil)
        #expect((answered.task.response as? HTTPURLResponse)?.statusCode == status)
        #expect(answered.body == Data("Not now".utf8))
        #expect(!answered.hasContinued)
        let resumed = try await paused.resume()
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
    }
}
