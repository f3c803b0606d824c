import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("Programs and agents that are killed")
    struct Killed {
        /// Sends the first half of 200,000 bytes, and the rest when the gate is open.
        private func rig(_ gate: Gate) throws -> BackgroundRig {
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 1)
            return try BackgroundRig { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .waitFor(gate), .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
        }

        private let whole = GeneratedBody.bytes(seed: 1, length: 200_000)

        @Test("A download outlives its program, and the next one is told of its end")
        func program() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            try await first.line(beginningWith: "wrote one")
            await first.crash()
            gate.open()
            try await rig.waitForLog { $0.contains(": done, ") }

            let second = try rig.program()
            try await second.line(beginningWith: "file one")
            try await second.line(beginningWith: "completed one ok")
            try await second.line(beginningWith: "events")
            #expect(rig.file("one") == whole)
            #expect(rig.server.requestCount == 1)
            second.say("finish")
            #expect(await second.ending() == .exit(0))
            // Without anything left to do.
            rig.waitForAgentToEnd()
            #expect(rig.stateFiles == [])
            second.closeInput()
        }

        @Test("An agent that is told to end first writes down how long its tasks have taken; the next one continues")
        func terminated() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let task = rig.download()
            try await rig.waitForCheckpoint(of: task)
            let first = try #require(rig.agentPid)
            kill(first, SIGTERM)
            try await rig.waitForLog { $0.contains("[\(first)] ends: SIGTERM") }
            let record = try #require(rig.stateFiles.first { $0.hasSuffix("/session") })
            let text = try String(contentsOf: rig.sessions.appendingPathComponent(record), encoding: .utf8)
            #expect(text.contains("\"elapsed\""))
            gate.open()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == whole)
            try await rig.finish()
        }

        @Test("Once flush has called back, the agent has a record of the task")
        func flush() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let task = rig.download()
            await rig.session.flush()
            #expect(rig.record(ofTask: task.taskIdentifier) != nil)
        }

        @Test(
            "A completed task whose file is torn or gone is loaded again, or fails if it can't be repeated",
            arguments: [true, false],
            [true, false]
        )
        func lostFile(isTorn: Bool, isRepeatable: Bool) async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say(isRepeatable ? "download \(rig.url("/")) one" : "post \(rig.url("/")) one 1")
            try await rig.server.waitForRequests(1)
            await first.crash()
            gate.open()
            try await rig.wait { rig.record(ofTask: 1)?.contains("\"ending\"") == true }
            rig.killAgent()
            let file = rig.sessions.appendingPathComponent(
                try #require(rig.stateFiles.first { $0.contains("/files/") })
            )
            #expect((isTorn ? truncate(file.path, 2) : unlink(file.path)) == 0)

            let second = try rig.program()
            let code = isRepeatable ? "ok" : "\(URLError.Code.cannotOpenFile.rawValue)"
            try await second.line(beginningWith: "completed one \(code)")
            #expect(rig.file("one") == (isRepeatable ? Data("hello".utf8) : nil))
            #expect(rig.server.requestCount == (isRepeatable ? 2 : 1))
            await second.crash()
        }

        @Test("A program that comes back amid a download finds it as it was")
        func restoration() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            first.say("download \(rig.url("/")) two")
            try await first.line(beginningWith: "wrote two")
            await first.crash()

            let tasks = await rig.session.allTasks
            #expect(tasks.map(\.taskIdentifier) == [1, 2])
            #expect(tasks.map(\.taskDescription) == ["one", "two"])
            #expect(tasks.map(\.state) == [.running, .running])
            #expect(tasks.allSatisfy { $0 is URLSessionDownloadTask })
            #expect(tasks[1].originalRequest?.url == rig.url("/"))
            #expect(tasks[1].countOfBytesExpectedToReceive == 200_000)
            #expect(tasks[1].countOfBytesReceived > 0)
            let third = rig.session.downloadTask(with: rig.url("/"))
            #expect(third.taskIdentifier == 3)
            gate.open()
            for task in tasks {
                try await rig.delegate.success(of: task)
                #expect(rig.delegate.body(of: task) == whole)
                #expect(rig.delegate.completionCount(of: task) == 1)
            }
        }

        @Test("The next program can suspend a task, resume, pause and cancel it, and make others")
        func intents() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let program = try await rig.readyProgram()
            for name in ["one", "two"] {
                program.say("download \(rig.url("/")) \(name)")
                try await program.line(beginningWith: "wrote \(name)")
            }
            await program.crash()

            let tasks = await rig.session.allTasks.sorted { $0.taskIdentifier < $1.taskIdentifier }
            #expect(tasks.map(\.taskDescription) == ["one", "two"])
            let paused = try #require(tasks.first as? URLSessionDownloadTask)
            let cancelled = try #require(tasks.last)
            paused.suspend()
            #expect(paused.state == .suspended)
            try await rig.waitForRecord(of: paused) { $0.contains("\"isSuspended\":true") }
            paused.resume()
            try await rig.waitForRecord(of: paused) { $0.contains("\"isSuspended\":false") }
            let data = try #require(await paused.cancelByProducingResumeData())
            cancelled.cancel()
            for task in [paused, cancelled] {
                #expect(try await rig.delegate.completion(of: task)?.code == .cancelled)
            }
            gate.open()
            let resumed = rig.session.downloadTask(withResumeData: data)
            resumed.resume()
            try await rig.delegate.success(of: resumed)
            #expect(rig.delegate.body(of: resumed) == whole)
            try await rig.finish()
        }

        @Test("A task that ended without a program is told, and not listed as one that runs")
        func listing() async throws {
            let (gate, heldGate) = (Gate(), Gate())
            let rig = try BackgroundRig { request in
                .text("hello").after([.waitFor(request.path == "/held" ? heldGate : gate)])
            }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/held")) held")
            first.say("download \(rig.url("/")) one")
            try await rig.server.waitForRequests(2)
            await first.crash()
            gate.open()
            try await rig.waitForLog { $0.contains("task 2: done, ") }

            let delegate = RecordingDelegate()
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let session = URLSession(configuration: rig.configuration(), delegate: delegate, delegateQueue: queue)
            // This one waits until the delegate has heard of the other.
            let isListed = Watched<[String?]?>(nil)
            session.getAllTasks { [record = delegate.record] tasks in
                let completions = record.value.completions.count
                isListed.update { $0 = tasks.map(\.taskDescription) + ["\(completions)"] }
            }
            let tasks = await session.allTasks
            #expect(tasks.map(\.taskDescription) == ["held"])
            #expect(isListed.value == nil)
            // Its number isn't free before it is told.
            #expect(session.downloadTask(with: rig.url("/")).taskIdentifier == 3)
            queue.isSuspended = false
            try await delegate.record.wait { $0.completions[2] != nil }
            // With the new task, which was never resumed, and how many had completed by then.
            try await isListed.wait { $0 == ["held", nil, "1"] }
            #expect(delegate.record.value.bodies[2] == Data("hello".utf8))
            #expect(delegate.record.value.completions[2] == [nil])
            #expect(await session.allTasks.map(\.taskDescription).first == "held")
            heldGate.open()
            let held = try #require(tasks.first)
            try await delegate.success(of: held)
            session.invalidateAndCancel()
        }

        @Test("A killed agent is started again, and the download goes on from where it was")
        func agent() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let task = rig.download()
            try await rig.waitForCheckpoint(of: task)
            rig.killAgent()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == whole)
            #expect(rig.delegate.completionCount(of: task) == 1)
            #expect(rig.server.requests.last?.header("Range")?.hasPrefix("bytes=") == true)
            try await rig.finish()
        }

        @Test("An agent that is killed before it listens is replaced, and its program hears nothing of it")
        func startingAgent() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            // The agent has its lock when it comes to its log, which then opens only once there is a reader.
            try FileManager.default.createDirectory(at: rig.folder, withIntermediateDirectories: true)
            let pipe = rig.folder.appendingPathComponent("agent.log")
            try #require(mkfifo(pipe.path, 0o600) == 0)
            let task = rig.download()
            try await rig.wait { rig.agentPid != nil }
            try FileManager.default.removeItem(at: pipe)
            rig.killAgent()
            try await rig.delegate.success(of: task)
            try await rig.finish()
        }

        @Test("After program and agent have been killed, the next program's agent goes on with the download")
        func both() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            try await first.line(beginningWith: "wrote one")
            await first.crash()
            rig.killAgent()

            let second = try rig.program()
            try await second.line(beginningWith: "completed one ok")
            #expect(rig.file("one") == whole)
            await second.crash()
        }

        @Test("A program that is killed while it is told of resume data leaves it to the next one")
        func pausedAndKilled() async throws {
            let gate = Gate()
            let rig = try rig(gate)
            defer { rig.end() }
            let program = try await rig.readyProgram()
            program.say("download \(rig.url("/")) one")
            try await program.line(beginningWith: "wrote one")
            program.say("pause one")
            #expect(await program.ending() == .signal(SIGKILL))

            _ = await rig.session.allTasks
            try await rig.delegate.record.wait { $0.completions[1] != nil }
            let error = try #require(rig.delegate.record.value.completions[1]?.first ?? nil)
            #expect(error.code == .cancelled)
            gate.open()
            let resumed = rig.session.downloadTask(withResumeData: try #require(error.downloadTaskResumeData))
            resumed.resume()
            try await rig.delegate.success(of: resumed)
            #expect(rig.delegate.body(of: resumed) == whole)
            #expect(rig.server.requests.last?.header("Range")?.hasPrefix("bytes=") == true)
            try await rig.finish()
        }

        @Test("An upload outlives its program, and so does the server's response")
        func upload() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("thanks").after([.waitFor(gate)]) }
            defer { rig.end() }
            _ = try rig.directory.file("letter", Data("dear".utf8))
            let first = try await rig.readyProgram()
            first.say("upload \(rig.url("/")) \(rig.directory.url.appendingPathComponent("letter").path)")
            _ = try await rig.server.request(number: 1)
            await first.crash()
            gate.open()
            let second = try rig.program()
            #expect(try await second.line(beginningWith: "data") == "data letter thanks")
            try await second.line(beginningWith: "completed letter ok")
            #expect(rig.server.requests.map(\.text) == ["dear"])
            await second.crash()
        }
    }
}
