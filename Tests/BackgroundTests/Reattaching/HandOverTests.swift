import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Files on their way from the agent to the delegate")
    struct HandOvers {
        @Test("Downloads that wait for their delegate's turn have no file open, and all are handed over")
        func waiting() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let folder = SessionFolder(url: agent.folder.session(rig.identifier), log: .none)
            try folder.prepare()
            let listings = try (101...120).map { try complete($0, rig, folder) }
            let queue = rig.session.delegateQueue
            queue.isSuspended = true
            _ = rig.download()
            try await agent.greet(with: listings.map(AgentMessage.listing) + [.welcome])
            // The program says this after it has heard that.
            _ = try await agent.submissions(1)
            #expect(openFiles(in: rig.directory.url).filter { $0.hasSuffix(".tmp") } == [])

            queue.isSuspended = false
            #expect(Set(try await agent.acknowledgements(20)) == Set(listings.map(\.submission.key)))
            for number in 101...120 {
                #expect(rig.delegate.record.value.completions[number] == [nil])
                #expect(rig.delegate.record.value.bodies[number] == Data("\(number)".utf8))
            }
        }

        /// A download that is complete, with its number as the file's content.
        private func complete(_ number: Int, _ rig: BackgroundRig, _ folder: SessionFolder) throws -> TaskListing {
            let submission = try TaskSubmission.download(URLRequest(url: rig.url("/")), identifier: number)
            let progress = TaskProgress(key: submission.key)
            let name = TemporaryName.kept.make()
            try Data("\(number)".utf8).write(to: folder.files.appendingPathComponent(name))
            return TaskListing(
                submission: submission,
                progress: progress,
                ending: TaskEnding(file: name, progress: progress)
            )
        }

        @Test("A complete download waits for its delegate, though no agent could be reached meanwhile")
        func waitingWithoutAgent() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let folder = SessionFolder(url: agent.folder.session(rig.identifier), log: .none)
            try folder.prepare()
            let listing = try complete(101, rig, folder)
            let queue = rig.session.delegateQueue
            queue.isSuspended = true
            _ = rig.download()
            try await agent.greet(with: [.listing(listing), .welcome])
            _ = try await agent.submissions(1)
            agent.hangUp()
            try await agent.greet(2, with: [.refused(.other("no"))])
            try await agent.goodbye()
            _ = rig.download()
            try await agent.greet(3, with: [.listing(listing), .welcome])
            // The program says this after what it has to say about the listing.
            _ = try await agent.submissions(2)
            #expect(try await agent.acknowledgements(0) == [])

            queue.isSuspended = false
            #expect(try await agent.acknowledgements(1) == [listing.submission.key])
            #expect(rig.delegate.record.value.completions[101] == [nil])
            #expect(rig.delegate.record.value.bodies[101] == Data("101".utf8))
        }

        private func openFiles(in directory: URL) -> [String] {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            return numbers.compactMap { number in
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            }.filter { $0.hasPrefix(directory.path) }
        }

        @Test("A file that can't be handed over stays for the next session")
        func failure() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.sessionWithoutRoom(delegate)
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            #expect(try await delegate.completion(of: task)?.code == .cannotCreateFile)
            // The same session isn't told again, whatever happens to the agent.
            rig.killAgent()
            let another = session.downloadTask(with: rig.url("/"))
            another.resume()
            #expect(try await delegate.completion(of: another)?.code == .cannotCreateFile)
            #expect(delegate.completionCount(of: task) == 1)
            session.invalidateAndCancel()
            try await delegate.invalidation()

            _ = rig.session
            try await rig.delegate.record.wait { $0.completions.count == 2 }
            for number in [task.taskIdentifier, another.taskIdentifier] {
                #expect(rig.delegate.record.value.completions[number] == [nil])
                #expect(rig.delegate.record.value.bodies[number] == Data("hello".utf8))
            }
            #expect(rig.server.requestCount == 2)
            try await rig.finish()
        }

        @Test("The partial file of a paused download that can't be handed over stays for the next session")
        func partialFile() async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 2)
            let rig = try BackgroundRig { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .resource(body, for: request, etag: "a").held(after: 100_000, until: gate)
            }
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.sessionWithoutRoom(delegate)
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await delegate.wait(for: task) {
                if case .wrote(_, let total, _) = $0 { total >= 100_000 } else { false }
            }
            #expect(await task.cancelByProducingResumeData() == nil)
            let failure = try #require(try await delegate.completion(of: task))
            #expect(failure.code == .cancelled && failure.downloadTaskResumeData == nil)
            session.invalidateAndCancel()
            try await delegate.invalidation()

            let error = try await rig.cancellationInNextSession(of: task)
            let resumed = rig.session.downloadTask(withResumeData: try #require(error.downloadTaskResumeData))
            resumed.resume()
            try await rig.delegate.success(of: resumed)
            #expect(rig.delegate.body(of: resumed) == GeneratedBody.bytes(seed: 2, length: 200_000))
            #expect(rig.server.requests.last?.header("Range") == "bytes=100000-")
            try await rig.finish()
        }

        @Test("The resume data of a paused upload that can't be written is the next session's")
        func uploadResumeData() async throws {
            let content = GeneratedBody.bytes(seed: 104, length: 1_000_000)
            let upload = LoopbackServer.ResumableUpload(cuts: [.init(at: 300_000, after: Gate())])
            let rig = try BackgroundRig(answering: .atHead) { upload.respond(to: $0) }
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.sessionWithoutRoom(delegate)
            let request = URLRequest(rig.url("/files"), method: "POST")
            let task = session.uploadTask(with: request, fromFile: try rig.directory.file(content))
            task.resume()
            try await rig.waitForRecord(of: task) { $0.contains(#"\/uploads\/1"#) }
            try await rig.server.waitForBodyBytesReceived(300_000)
            #expect(await task.cancelByProducingResumeData() == nil)
            let failure = try #require(try await delegate.completion(of: task))
            #expect(failure.code == .cancelled && failure.uploadTaskResumeData == nil)
            session.invalidateAndCancel()
            try await delegate.invalidation()

            let error = try await rig.cancellationInNextSession(of: task)
            let resumed = rig.session.uploadTask(withResumeData: try #require(error.uploadTaskResumeData))
            resumed.resume()
            try await rig.delegate.success(of: resumed)
            #expect(upload.content == content && upload.isComplete)
            try await rig.finish()
        }
    }
}

extension BackgroundRig {
    /// A session that can't make files for the program.
    fileprivate func sessionWithoutRoom(_ delegate: RecordingDelegate) -> URLSession {
        session(delegate) {
            $0.curl.temporaryDirectory = directory.url.appendingPathComponent("missing", isDirectory: true)
        }
    }

    /// What the rig's own session, which comes after the task's, says of the cancelled task.
    fileprivate func cancellationInNextSession(of task: URLSessionTask) async throws -> URLError {
        let number = task.taskIdentifier
        _ = session
        try await delegate.record.wait { $0.completions[number] != nil }
        let error = try #require(delegate.record.value.completions[number]?.first ?? nil)
        #expect(error.code == .cancelled)
        return error
    }
}
