import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("A task in its agent")
    struct AgentTasks {
        private let directory: TemporaryDirectory
        private let folder: SessionFolder
        private let settings = SessionDescription(.background(withIdentifier: "test"), delegate: nil)
        private let queue = DispatchQueue(label: "agent")
        private let session: AgentSession

        init() throws {
            directory = try TemporaryDirectory()
            folder = SessionFolder(url: directory.url, log: .none)
            try folder.prepare()
            session = AgentSession(SessionRecord(identifier: "test", settings: settings), in: folder, on: queue) {}
        }

        @Test("However long the tasks' descriptions are, a program that reads slowly gets all of them")
        func slowProgram() async throws {
            // More than a connection keeps for an end that doesn't read.
            let (count, length) = (12, 20_000_000)
            let body = Data(count: length)
            let stored = try (1...count).map { number in
                var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
                request.httpBody = body
                let submission = try TaskSubmission.download(request, identifier: number, isSuspended: true)
                return StoredTask(TaskRecord(submission), in: folder, batch: nil)
            }
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
            let readingQueue = DispatchQueue(label: "program")
            let channel = try queue.sync { [end = ends[0]] in
                try AgentSession.Channel(end, on: queue, received: { _ in }, ended: { _ in })
            }
            queue.sync {
                session.load(stored)
                session.attach(channel, settings)
            }
            let heard = Watched<[Int]>([])
            let isWelcome = Watched(false)
            let reader = try readingQueue.sync { [end = ends[1]] in
                try BackgroundClient.Channel(end, on: readingQueue) { messages in
                    for message in messages {
                        switch message {
                        case .listing(let listing):
                            heard.update { $0.append(listing.submission.request.body?.count ?? 0) }
                        case .welcome: isWelcome.update { $0 = true }
                        default: break
                        }
                    }
                } ended: { _ in
                }
            }
            try await isWelcome.wait { $0 }
            #expect(heard.value == Array(repeating: length, count: count))
            readingQueue.sync { reader.close() }
            queue.sync {
                channel.close()
                session.close()
            }
        }

        @Test("A task that is suspended while its attempt fails begins no other before it is resumed")
        func suspended() throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let submission = try TaskSubmission.download(URLRequest(url: server.url("/")))
            var intent = submission.intent
            let attempt = URLSession.shared.downloadTask(with: server.url("/"))
            queue.sync {
                let task = AgentTask(StoredTask(TaskRecord(submission), in: folder, batch: nil), in: session)
                task.start()
                intent.isSuspended = true
                task.change(to: intent)
                task.completed(attempt, URLError(.networkConnectionLost))
                task.retryNow()
                intent.cancellation = .discardingBody
                task.change(to: intent)
                // The end of an attempt would have to be waited for.
                #expect(task.hasEnded)
                session.close()
            }
        }

        @Test("Agents that are killed before anything happens to a task have used up its time all the same")
        func killedAgents() async throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let record = TaskRecord(try .download(URLRequest(url: server.url("/"))))
            let key = record.submission.key.uuidString
            queue.sync {
                session.load([StoredTask(record, in: folder, batch: nil)])
                session.recordTimes()
            }
            _ = try await server.request(number: 1)
            // What has been written down of the time, and nothing of the task itself.
            var noted = try #require(try folder.readSession())
            #expect(noted.elapsed?[key] ?? 0 > 0)
            queue.sync { session.close() }

            try folder.prepare()
            noted.elapsed?[key] = settings.resourceTimeout
            let hasChanged = Watched(false)
            let next = AgentSession(noted, in: folder, on: queue) { hasChanged.update { $0 = true } }
            queue.sync { next.load([StoredTask(record, in: folder, batch: nil)]) }
            try await hasChanged.wait { $0 }
            queue.sync {
                #expect(next.status.tasks.map(\.state) == ["failed"])
                next.close()
            }
        }

        @Test("An agent that is killed right after a force-quit leaves the reason for it to the next one")
        func killedAfterForceQuit() throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let submission = try TaskSubmission.download(URLRequest(url: server.url("/")))
            try queue.sync {
                session.load([StoredTask(TaskRecord(submission), in: folder, batch: nil)])
                session.forceQuit()
                // The end of the attempt waits for this queue. If the agent were killed now:
                #expect(session.tasks[submission.key]?.hasEnded == false)
                let stored = try folder.readTasks()
                session.close()
                let record = SessionRecord(identifier: "test", settings: settings)
                let next = AgentSession(record, in: folder, on: queue) {}
                next.load(stored)
                let error = try #require(next.tasks[submission.key]?.listing.ending?.error).error
                #expect(error.code == .cancelled)
                #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
                next.close()
            }
        }

        @Test("A suspended download that an earlier agent began shows how much there is of it")
        func restoredProgress() throws {
            let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
            let partial = try partialFile(in: folder.files)
            var record = TaskRecord(try .download(request, isSuspended: true))
            record.resumeData = try ResumeData.encoded(request, in: partial, completeLength: 5000)
            var missing = TaskRecord(try .download(request, identifier: 2, isSuspended: true))
            missing.resumeData = try ResumeData.encoded(request, in: partial.place(named: "none", in: folder.files))
            queue.sync {
                session.load([record, missing].map { StoredTask($0, in: folder, batch: nil) })
                let counters = session.status.tasks.map(\.counters)
                #expect(counters.map(\.received) == [1000, 0])
                #expect(counters.map(\.expectedToReceive) == [5000, 0])
                session.close()
            }
        }

        @Test("A program that doesn't read is told of the latest progress when it does, and of nothing in between")
        func unreadProgress() async throws {
            let submission = try TaskSubmission.download(
                URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/"))),
                isSuspended: true
            )
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
            let channel = try queue.sync { [end = ends[0]] in
                try AgentSession.Channel(end, on: queue, received: { _ in }, ended: { _ in })
            }
            let attempt = URLSession.shared.downloadTask(with: submission.request.url)
            queue.sync {
                session.attach(channel, settings)
                session.receive([.submit(submission)], on: channel)
                // More than the connection takes.
                channel.send(.checkpoint(0, Data(count: 4_000_000)))
                channel.flush()
            }
            for total in 1...100 as ClosedRange<Int64> {
                queue.sync {
                    session.tasks[submission.key]?.wrote(1, total: total, of: 100, attempt)
                    session.flushProgress()
                }
            }
            let heard = Watched<[Int64]>([])
            let isOver = Watched(false)
            let readingQueue = DispatchQueue(label: "program")
            let reader = try readingQueue.sync { [end = ends[1]] in
                try BackgroundClient.Channel(end, on: readingQueue) { messages in
                    for message in messages {
                        switch message {
                        case .progress(let all): heard.update { $0 += all.map(\.counters.received) }
                        case .done: isOver.update { $0 = true }
                        default: break
                        }
                    }
                } ended: { _ in
                }
            }
            try await heard.wait { !$0.isEmpty }
            queue.sync { _ = channel.send(.done) }
            try await isOver.wait { $0 }
            #expect(heard.value == [100])
            readingQueue.sync { reader.close() }
            queue.sync {
                channel.close()
                session.close()
            }
        }

        @Test("An agent stays for a record that it can't remove, and neither lists nor continues the task")
        func unremovable() async throws {
            let url = directory.url.appendingPathComponent("session", isDirectory: true)
            let folder = SessionFolder(url: url, log: .none)
            let changes = Watched(0)
            let record = SessionRecord(identifier: "test", settings: settings)
            let session = AgentSession(record, in: folder, on: queue) { changes.update { $0 += 1 } }
            let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
            let submission = try TaskSubmission.download(request, isSuspended: true)
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
            let channel = try queue.sync { [end = ends[0]] in
                try AgentSession.Channel(end, on: queue, received: { _ in }, ended: { _ in })
            }
            queue.sync {
                session.attach(channel, settings)
                session.receive([.submit(submission)], on: channel)
            }
            #expect(try folder.readTasks().count == 1)
            let count = try withLoop(at: url.path) {
                queue.sync {
                    session.receive([.acknowledge(submission.key)], on: channel)
                    session.detach()
                    #expect(session.needsAgent && !session.isOver)
                    #expect(session.status.tasks.isEmpty)
                }
                return changes.value
            }
            try await changes.wait { $0 > count }
            queue.sync {
                #expect(!session.needsAgent && session.isOver)
                channel.close()
                session.close()
            }
            #expect(access(url.path, F_OK) != 0)
            close(ends[1])
        }

        /// A thousand bytes of a download.
        private func partialFile(in directory: URL) throws -> PartialFile {
            let file = try DownloadFile(in: directory)
            try Data(count: 1000).withUnsafeBytes { bytes in
                try Result { () throws(URLError) in try file.write(bytes) }.get()
            }
            return try #require(file.keep())
        }

        @Test(
            "A download that is paused when its attempt has just failed keeps what that has loaded",
            arguments: [true, false]
        )
        func pausedTooLate(isPaused: Bool) throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let request = URLRequest(url: server.url("/"))
            let partial = try partialFile(in: folder.files)
            let resumeData = try ResumeData.encoded(request, in: partial, completeLength: 5000)
            let submission = try TaskSubmission.download(request)
            var intent = submission.intent
            let attempt = URLSession.shared.downloadTask(with: server.url("/"))
            queue.sync {
                let task = AgentTask(StoredTask(TaskRecord(submission), in: folder, batch: nil), in: session)
                task.start()
                intent.cancellation = isPaused ? .keepingPartialFile : .discardingBody
                task.change(to: intent)
                task.completed(attempt, URLError(.networkConnectionLost).with(resumeData: resumeData))
                #expect(task.listing.ending?.resumeData == (isPaused ? resumeData : nil))
                #expect(partial.isThere() == isPaused)
                session.close()
            }
        }

        @Test("A complete file has the name that the record has for it, so that another agent finds it")
        func completeFile() throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let file = try DownloadFile(in: folder.files)
            let partial = try #require(file.describe())
            let location = try file.finish().handOver()
            #expect(!partial.isThere())
            let request = URLRequest(url: server.url("/"))
            var record = TaskRecord(try .download(request))
            record.resumeData = try ResumeData.encoded(request, in: partial)
            queue.sync {
                let task = AgentTask(StoredTask(record, in: folder, batch: nil), in: session)
                task.start()
                task.downloaded(to: location)
                #expect(partial.isThere())
                session.close()
            }
        }

        @Test("A complete file is recorded, can't be cancelled while it is synced, and counts after that")
        func syncing() async throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let submission = try TaskSubmission.download(URLRequest(url: server.url("/")))
            let content = Data("complete".utf8)
            let location = try directory.file("download", content)
            let attempt = URLSession.shared.downloadTask(with: server.url("/"))
            let changes = Watched(0)
            let record = SessionRecord(identifier: "test", settings: settings)
            let session = AgentSession(record, in: folder, on: queue) { changes.update { $0 += 1 } }
            let task = AgentTask(StoredTask(TaskRecord(submission), in: folder, batch: nil), in: session)
            try queue.sync {
                task.start()
                task.downloaded(to: location)
                task.completed(attempt, nil)
                // The sync's end waits for this queue. If the agent were killed now:
                #expect(!task.hasEnded && task.needsAgent && task.listing.ending == nil)
                // It is too late for that.
                task.forceQuit()
                var stored = try #require(try folder.readTasks().first)
                let file = try #require(stored.record.ending?.file)
                let isWhole = stored.checkFile()
                #expect(isWhole && task.files == [file])
                #expect(stored.record.submission.intent.cancellation == nil)
                #expect(try Data(contentsOf: folder.files.appendingPathComponent(file)) == content)
            }
            try await changes.wait { $0 > 0 }
            queue.sync {
                #expect(task.hasEnded && !task.needsAgent && task.listing.ending?.fileLength == 8)
                session.close()
            }
        }

        @Test(
            "A partial file that an agent was about to take over when it was killed is continued by the next one",
            arguments: [false, true]
        )
        func partialFile(isMoved: Bool) async throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let program = try TemporaryDirectory()
            let request = URLRequest(url: server.url("/"))
            let partial = try partialFile(in: program.url)
            let resumeData = try ResumeData.encoded(request, in: partial, completeLength: 5000)
            var record = TaskRecord(try .download(request, resumeData: resumeData))
            record.takeOver(from: program.url, to: folder.files)
            try folder.add(record)
            if isMoved { _ = try partial.moved(to: folder.files, as: #require(record.nameOfSource)) }
            #expect(program.content.isEmpty == isMoved)

            let configuration = URLSessionConfiguration.background(withIdentifier: "test")
            configuration.curl.temporaryDirectory = program.url
            let settings = SessionDescription(configuration, delegate: nil)
            let session = AgentSession(SessionRecord(identifier: "test", settings: settings), in: folder, on: queue) {}
            try queue.sync { session.load(try folder.readTasks()) }
            #expect(try await server.request(number: 1).header("Range") == "bytes=1000-")
            #expect(program.content == [])
            queue.sync { session.close() }
        }
    }
}
