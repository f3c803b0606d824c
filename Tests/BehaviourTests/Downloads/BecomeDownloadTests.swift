import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Data tasks that become downloads", .timeLimit(.minutes(1)))
struct BecomeDownloadTests {
    @Test("The delegate hears that the task became a download, and gets the body as a file")
    func becomes() async throws {
        let length = 3_000_000
        let location = Watched<URL?>(nil)
        let delegate = RecordingDelegate(
            onResponse: { _, _, answer in answer(.becomeDownload) },
            onDownload: { url in location.update { $0 = url } }
        )
        let rig = try Rig(delegate: delegate) { _ in .generated(length: Int64(length), seed: 12) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        let download = try #require(delegate.download(of: task))
        try await delegate.success(of: download)
        #expect(
            delegate.story(of: download)
                == ["created", "response", "became download", "wrote", "finished downloading", "completed"]
        )
        let written = delegate.events(of: download).last { $0.name == "wrote" }
        guard case .wrote(_, let total, let expected)? = written else { return }
        #expect(total == Int64(length) && expected == Int64(length))
        #expect((download.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(download.state == .completed)
        // The program hasn't moved the file.
        let path = try #require(location.value?.path)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A data task that became a download is completed, and on no list")
    func dataTaskIsOver() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let rig = try Rig(delegate: delegate) { _ in .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        let download = try #require(delegate.download(of: task))
        #expect(task.state == .completed)
        #expect(download.state == .running)
        #expect(await rig.session.allTasks == [download])
        gate.open()
        try await delegate.success(of: download)
        #expect(delegate.body(of: download) == Data("first second".utf8))
    }

    @Test(
        "The file is the body, byte for byte, however much of it had come before the answer",
        arguments: [true, false]
    )
    func content(isBodyComplete: Bool) async throws {
        let gate = Gate()
        let answers = DispositionTests.Answers([])
        let delegate = RecordingDelegate(onResponse: { task, _, answer in
            guard task.taskDescription == "becoming" else { return answer(.allow) }
            answers.update { $0.append(answer) }
        })
        let rig = try Rig(delegate: delegate) { _ in
            isBodyComplete
                ? .generated(length: 10_000, seed: 13)
                : .pieces([
                    .body(.generated(length: 10_000, seed: 13)[0..<4000]), .waitFor(gate),
                    .body(.generated(length: 10_000, seed: 13)[4000..<10_000]),
                ])
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.taskDescription = "becoming"
        task.resume()
        try await answers.wait { !$0.isEmpty }
        // The next request gets the only connection when the body is complete.
        if isBodyComplete { _ = try await rig.session.data(from: rig.url("/")) }
        answers.value[0](.becomeDownload)
        try await delegate.wait(for: task) { $0 == .becameDownload }
        gate.open()
        let download = try #require(delegate.download(of: task))
        try await delegate.success(of: download)
        #expect(delegate.body(of: download) == GeneratedBody.bytes(seed: 13, length: 10_000))
        #expect(!delegate.story(of: download).contains("data"))
    }

    @Test("Bytes that arrived before the answer count as written too")
    func earlyBytes() async throws {
        let answers = DispositionTests.Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        answers.value[0](.becomeDownload)
        try await delegate.wait(for: task) { $0 == .wrote(1000, total: 1000, expected: 5000) }
    }

    @Test("The download takes the data task's place in the session's list")
    func list() async throws {
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        let download = try #require(delegate.download(of: task))
        #expect(await rig.session.allTasks == [download])
        #expect(download.originalRequest?.url == rig.url("/"))
        download.cancel()
        #expect(try await delegate.completion(of: download)?.code == .cancelled)
    }

    @Test("The data task's Progress is the download's, and cancels it even if the data task is gone")
    func progress() async throws {
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { rig.stop() }
        let parent = Progress(totalUnitCount: 1)
        func start() async throws -> URLSessionDownloadTask {
            let task = rig.session.dataTask(with: rig.url("/"))
            parent.addChild(task.progress, withPendingUnitCount: 1)
            task.resume()
            try await delegate.wait(for: task) { $0 == .wrote(1000, total: 1000, expected: 5000) }
            return try #require(delegate.download(of: task))
        }
        let download = try await start()
        parent.cancel()
        #expect(try await delegate.completion(of: download)?.code == .cancelled)
        #expect(download.progress.isCancelled)
    }

    @Test("Cancelling a data task that became a download leaves no file behind", arguments: [true, false])
    func litter(cancelsDataTask: Bool) async throws {
        let directory = try TemporaryDirectory()
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let rig = try Rig(delegate: delegate) { _ in
            .fault(.insideBody(after: 1000, of: 5000), then: .hang)
        } configure: {
            $0.curl.temporaryDirectory = directory.url
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task) { $0 == .becameDownload }
        try await eventually { directory.content.count == 1 }
        let download = try #require(delegate.download(of: task))
        (cancelsDataTask ? task : download).cancel()
        #expect(try await delegate.completion(of: download)?.code == .cancelled)
        #expect(directory.content.isEmpty)
    }

    @Test("A data task that became a download can be paused and resumed like any download")
    func resuming() async throws {
        let origin = try ResumeOrigin()
        let directory = try TemporaryDirectory()
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: origin.url)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt) }
        let download = try #require(delegate.download(of: task))
        #expect(await download.checkpoint() != nil)
        let data = try #require(await download.cancelByProducingResumeData())
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil && resumed.body == ResumeOrigin.bytes)
        #expect(resumed.events.contains(.resumed(offset: ResumeOrigin.heldAt, expected: ResumeOrigin.length)))
    }

    @Test("If no file can be made, a task that is to become a download fails with a clear error")
    func unwritable() async throws {
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.becomeDownload) })
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello")
        } configure: {
            $0.curl.temporaryDirectory = URL(fileURLWithPath: "/nonexistent")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cannotCreateFile)
    }
}
