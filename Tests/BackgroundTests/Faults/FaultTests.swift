import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Faults of the system")
    struct Faults {
        // MARK: - The disk

        /// How long a file of the agent's may get, in bytes, from now on; nil for any length. To a program a full disk looks the same.
        private func limitFiles(of rig: BackgroundRig, to length: Int?) async throws {
            try await limit(rig, "--fsize=\(length.map(String.init) ?? "unlimited"):unlimited")
        }

        private func limit(_ rig: BackgroundRig, _ limit: String) async throws {
            let pid = try #require(rig.agentPid)
            let program = try ChildProcess(["prlimit", "--pid", "\(pid)", limit], mergesErrors: true)
            #expect(await program.remainingLines() == [])
            #expect(await program.ending() == .exit(0))
        }

        @Test("A full disk fails the download that doesn't fit, and no other")
        func fullDisk() async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 2_000_000, seed: 1)
            let rig = try BackgroundRig { request in
                if request.path == "/small" { return .text("small").after([.waitFor(gate)]) }
                return .pieces([.body(body[0..<10_000]), .waitFor(gate), .body(body[10_000..<2_000_000])])
            }
            defer { rig.end() }
            let large = rig.session.downloadTask(with: rig.url("/large"))
            let small = rig.session.downloadTask(with: rig.url("/small"))
            for task in [large, small] { task.resume() }
            try await rig.delegate.wait(for: large) { $0.name == "wrote" }
            _ = try await rig.server.request(number: 2)
            try await limitFiles(of: rig, to: 1_000_000)
            gate.open()
            let error = try await rig.delegate.completion(of: large)
            #expect(error?.code == .cannotWriteToFile)
            try await rig.delegate.success(of: small)
            #expect(rig.delegate.body(of: small) == Data("small".utf8))
            try await rig.finish()
        }

        @Test("Where no record can be written, new tasks fail and others end; with room, all is well again")
        func noRoomForRecords() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { request in
                request.path == "/held" ? .text("").after([.waitFor(gate)]) : .text("hello")
            }
            defer { rig.end() }
            let held = rig.download("/held")
            _ = try await rig.server.request(number: 1)
            try await limitFiles(of: rig, to: 0)
            let refused = rig.download()
            #expect(try await rig.delegate.completion(of: refused)?.code == .cannotWriteToFile)
            gate.open()
            try await rig.delegate.success(of: held)
            #expect((held.response as? HTTPURLResponse)?.statusCode == 200)

            try await limitFiles(of: rig, to: nil)
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("hello".utf8))
            try await rig.finish()
        }

        @Test("A task's end that there is no room to record is recorded once there is, and nothing is done twice")
        func noRoomForEnd() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let program = try await rig.readyProgram()
            // There is room for the log, and not for a record with such a body.
            program.say("post \(rig.url("/")) one 300000")
            try await rig.server.waitForRequests(1)
            await program.crash()
            try await limitFiles(of: rig, to: 100_000)
            gate.open()
            try await rig.waitForLog { $0.contains("task 1: its record can't be written") }
            try await limitFiles(of: rig, to: nil)
            try await rig.wait { rig.record(ofTask: 1)?.contains("\"ending\"") == true }
            // The program, which was its own agent, stays no longer than for that.
            rig.waitForAgentToEnd()

            let next = try rig.program()
            try await next.line(beginningWith: "completed one ok")
            #expect(rig.file("one") == Data("hello".utf8))
            #expect(rig.server.requestCount == 1)
            await next.crash()
        }

        @Test("A resumed download for whose record there is no room can be resumed again", arguments: [true, false])
        func noRoomForResumed(isFirst: Bool) async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 8)
            let rig = try BackgroundRig { request in
                if request.path == "/held" { return .never }
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .resource(body, for: request, etag: "a").held(after: 100_000, until: gate)
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.wait(for: task) {
                if case .wrote(_, let total, _) = $0 { total >= 100_000 } else { false }
            }
            let data = try #require(await task.cancelByProducingResumeData())
            try await rig.wait { rig.stateFiles == [] }
            // With another task there is room for the session's own record.
            if !isFirst {
                _ = rig.download("/held")
                try await rig.server.waitForRequests(2)
            }
            try await limitFiles(of: rig, to: 0)
            let refused = rig.session.downloadTask(withResumeData: data)
            refused.resume()
            let error = try await rig.delegate.completion(of: refused)
            #expect(error?.code == .cannotWriteToFile)
            try await limitFiles(of: rig, to: nil)
            let again = rig.session.downloadTask(withResumeData: try #require(error?.downloadTaskResumeData))
            again.resume()
            try await rig.delegate.success(of: again)
            #expect(rig.delegate.body(of: again) == GeneratedBody.bytes(seed: 8, length: 200_000))
            #expect(rig.server.requests.last?.header("Range") == "bytes=100000-")
        }

        /// Resumes tasks that the agent finds all at once, `meanwhile` being done before.
        private func resumeTogether(
            _ tasks: [URLSessionTask],
            _ rig: BackgroundRig,
            meanwhile: () async throws -> Void = {}
        ) async throws {
            let pid = try #require(rig.agentPid)
            kill(pid, SIGSTOP)
            defer { kill(pid, SIGCONT) }
            try await meanwhile()
            for task in tasks { task.resume() }
            // The list is made where they are sent, and after that.
            _ = await rig.session.allTasks
            _ = await rig.session.allTasks
        }

        @Test("Tasks that are resumed together share a record file, and none is lost when the agent is killed")
        func together() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { .text($0.path).after([.waitFor(gate)]) }
            defer { rig.end() }
            let held = rig.download("/held")
            try await rig.server.waitForRequests(1)
            let tasks = (1...20).map { rig.session.downloadTask(with: rig.url("/\($0)")) }
            try await resumeTogether(tasks, rig)
            try await rig.wait { rig.stateFiles.contains { $0.hasSuffix(".tasks") } }
            #expect(rig.stateFiles.count { $0.hasSuffix(".task") } < 10)
            rig.killAgent()
            gate.open()
            for (index, task) in tasks.enumerated() {
                try await rig.delegate.success(of: task)
                #expect(rig.delegate.body(of: task) == Data("/\(index + 1)".utf8))
            }
            try await rig.delegate.success(of: held)
            try await rig.finish()
        }

        @Test("Tasks whose records don't fit into one file together succeed if there is room for each of them")
        func roomForEach() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { request in
                request.path == "/held" ? .text("").after([.waitFor(gate)]) : .text("hello")
            }
            defer { rig.end() }
            let held = rig.download("/held")
            try await rig.server.waitForRequests(1)
            let tasks = (1...20).map { _ in rig.session.downloadTask(with: rig.url("/")) }
            try await resumeTogether(tasks, rig) { try await limitFiles(of: rig, to: 2_000) }
            for task in tasks { try await rig.delegate.success(of: task) }
            gate.open()
            try await rig.delegate.success(of: held)
            try await rig.finish()
        }

        @Test("In a folder that becomes read-only, new tasks fail and others go on", .enabled(if: geteuid() == 0))
        func readOnly() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { request in
                request.path == "/held" ? .text("").after([.waitFor(gate)]) : .text("hello")
            }
            defer { rig.end() }
            // The superuser may write everywhere.
            let program = try await rig.readyProgram(user: 65534)
            program.say("download \(rig.url("/held")) held")
            _ = try await rig.server.request(number: 1)
            let session = try #require(rig.stateFiles.first { !$0.contains("/") })
            let folder = rig.sessions.appendingPathComponent(session)
            #expect(chmod(folder.path, 0o500) == 0)
            program.say("download \(rig.url("/")) refused")
            let code = URLError.Code.cannotWriteToFile.rawValue
            try await program.line(beginningWith: "completed refused \(code)")
            #expect(chmod(folder.path, 0o700) == 0)
            gate.open()
            try await program.line(beginningWith: "completed held ok")
            program.say("download \(rig.url("/")) one")
            try await program.line(beginningWith: "completed one ok")
            await program.crash()
        }

        @Test(
            "A task that ends in a folder that has become read-only is told of once, and its request isn't sent again",
            .enabled(if: geteuid() == 0)
        )
        func endInReadOnlyFolder() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let program = try await rig.readyProgram(user: 65534)
            program.say("post \(rig.url("/")) one 10")
            try await rig.server.waitForRequests(1)
            let session = try #require(rig.stateFiles.first { !$0.contains("/") })
            let folder = rig.sessions.appendingPathComponent(session)
            #expect(chmod(folder.path, 0o500) == 0)
            gate.open()
            try await program.line(beginningWith: "completed one ok")
            // It can't be removed, and nothing of the request is left there.
            try await rig.wait { rig.record(ofTask: 1)?.allSatisfy { $0 == "-" } == true }
            await program.crash()
            rig.waitForAgentToEnd()
            #expect(chmod(folder.path, 0o700) == 0)

            let next = try rig.program(user: 65534)
            #expect(await next.line() == "ready")
            next.say("finish")
            #expect(await next.remainingLines() == [])
            #expect(rig.server.requestCount == 1)
            try await rig.wait { rig.stateFiles == [] }
        }

        // MARK: - The agent's program

        @Test("Where no agent can be started, a program is warned that tasks on record can't be listed")
        func unlistedTasks() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            func program() throws -> ChildProcess {
                try ChildProcess(
                    [BackgroundRig.helper.path, rig.folder.path, rig.identifier, rig.directory.url.path],
                    environment: ["CURLNETWORKING_AGENT": "/nonexistent"],
                    mergesErrors: true
                )
            }
            let first = try program()
            #expect(await first.line() == "ready")
            await first.crash()
            // As if an earlier agent had left it.
            let folder = SessionFolder(url: StateFolder(rig.folder).session(rig.identifier), log: .none)
            try folder.prepare()
            try folder.add(TaskRecord(try .download(URLRequest(url: rig.url("/")), isSuspended: true)))

            let second = try program()
            let warning = await second.line() ?? ""
            let task = "CurlNetworking: the tasks on record of the background session \"test\" can't be listed: "
            #expect(warning.hasPrefix(task + "The agent /nonexistent can't be started: "))
            #expect(await second.line() == "ready")
            await second.crash()
        }

        // MARK: - Descriptors

        @Test("A program that connects when the agent is out of descriptors has its turn when there are some again")
        func outOfDescriptors() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            try await rig.delegate.success(of: rig.download())
            try await limit(rig, "--nofile=3:")
            let folder = StateFolder(rig.folder)
            let answer = Task.detached { try AgentInquiry.askIfRunning(.status, folder) }
            try await rig.waitForLog { $0.contains("can't accept a connection") }
            try await limit(rig, "--nofile=1024:")
            guard case .status(let sessions) = try await answer.value else {
                Issue.record("no status")
                return
            }
            #expect(sessions.map(\.identifier) == [rig.identifier])
        }

        @Test("Records that can't be read for want of descriptors stay, and are read when there are some again")
        func unreadableRecords() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            try await rig.startAgent()
            // As if an earlier agent had left it.
            let folder = SessionFolder(url: StateFolder(rig.folder).session(rig.identifier), log: .none)
            try folder.prepare()
            let settings = SessionDescription(rig.configuration(), delegate: nil)
            try folder.write(SessionRecord(identifier: rig.identifier, settings: settings))
            let record = TaskRecord(try .download(URLRequest(url: rig.url("/")), isSuspended: true))
            try folder.add(record)
            let files = rig.stateFiles

            let program = try BareProgram(rig)
            // With the answer, the agent has accepted the connection.
            program.say(.status)
            try await program.heard.wait { $0.count == 1 }
            try await limit(rig, "--nofile=3:")
            program.say(rig.hello)
            try await program.heard.wait { $0.count == 2 }
            guard case .refused(.notNow) = program.heard.value[1] else {
                Issue.record("it isn't refused")
                return
            }
            try await limit(rig, "--nofile=1024:")
            program.say(rig.hello)
            try await program.heard.wait { $0.count == 4 }
            guard case .listing(let listing) = program.heard.value[2], case .welcome = program.heard.value[3] else {
                Issue.record("the task isn't found")
                return
            }
            #expect(listing.submission.key == record.submission.key)
            #expect(rig.stateFiles == files)
            program.close()
        }

        @Test("A download for whose file there is no descriptor is attempted again until there is one")
        func noDescriptorForFile() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let task = rig.download()
            try await rig.server.waitForRequests(1)
            try await limit(rig, "--nofile=3:")
            gate.open()
            let code = URLError.Code.cannotCreateFile.rawValue
            try await rig.waitForLog { $0.contains("task 1: \(code), another attempt in") }
            try await limit(rig, "--nofile=1024:")
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("hello".utf8))
            try await rig.finish()
        }

        @Test("An agent may have all descriptors that it can ask for, however few its program has")
        func raisedLimit() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let program = try await rig.readyProgram(after: "ulimit -Sn 300")
            program.say("download \(rig.url("/")) one")
            try await rig.server.waitForRequests(1)
            let limits = try String(contentsOfFile: "/proc/\(#require(rig.agentPid))/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
            let words = line.split(separator: " ")
            #expect(words[3] == words[4] && words[3] != "300")
            await program.crash()
        }

        // MARK: - Newer programs

        @Test("An agent whose program is replaced goes on; the next one is the new program")
        func replacedProgram() async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 4)
            let rig = try BackgroundRig { .resource(body, for: $0, etag: "a").held(after: 100_000, until: gate) }
            defer { rig.end() }
            let program = rig.directory.url.appendingPathComponent("installed-agent")
            try FileManager.default.copyItem(at: BackgroundRig.agent, to: program)
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.curl.background.agent = program }
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await rig.waitForCheckpoint(of: task)
            let old = try #require(rig.agentPid)

            let new = rig.directory.url.appendingPathComponent("new-agent")
            try FileManager.default.copyItem(at: BackgroundRig.agent, to: new)
            #expect(rename(new.path, program.path) == 0)
            #expect(rig.agentPid == old)
            rig.killAgent()
            gate.open()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 200_000))
            let running = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(rig.agentPid ?? 0)/exe")
            #expect(running == program.path)
            session.invalidateAndCancel()
        }

        @Test("A program of a newer version makes an agent without programs go, whose tasks the next one has")
        func newerVersion() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let program = try await rig.readyProgram()
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            let old = try #require(rig.agentPid)

            // As long as a program is attached, the agent stays.
            #expect(try await answer(toVersion: Self.newer, rig) == .version(Hello.currentVersion))
            #expect(rig.agentPid == old)
            await program.crash()
            try await rig.waitForLog { $0.contains("detached") }
            #expect(try await answer(toVersion: Self.newer, rig) == .version(Hello.currentVersion))
            try await rig.waitForLog { $0.contains("ends: a program of version \(Self.newer) has come") }

            let next = try rig.program()
            try await next.line(beginningWith: "restored 1 one")
            gate.open()
            try await next.line(beginningWith: "completed one ok")
            #expect(rig.agentPid != old)
            await next.crash()
        }

        private static let newer = Hello.currentVersion + 1

        /// What the agent says to a program of another version, of which it understands nothing else.
        private func answer(toVersion version: Int, _ rig: BackgroundRig) async throws -> Refusal? {
            let text = #"{"hello":{"_0":{"version":\#(version),"identifier":1,"settings":{"new":true}}}}"#
            let message = try WireCoding.decoder.decode(ClientMessage.self, from: Data(text.utf8))
            let folder = StateFolder(rig.folder)
            let answer = try await Task.detached { try AgentInquiry.askIfRunning(message, folder) }.value
            guard case .refused(let refusal) = answer else { return nil }
            return refusal
        }

        // MARK: - Many tasks, and none

        @Test("A thousand downloads at once all arrive")
        func thousand() async throws {
            let rig = try BackgroundRig { .text($0.path) }
            defer { rig.end() }
            let tasks = (1...1000).map { rig.session.downloadTask(with: rig.url("/\($0)")) }
            for task in tasks { task.resume() }
            for (index, task) in tasks.enumerated() {
                try await rig.delegate.success(of: task)
                #expect(rig.delegate.body(of: task) == Data("/\(index + 1)".utf8))
            }
            #expect(rig.server.requestCount == 1000)
            try await rig.finish()
        }

        @Test("An agent that has nothing to do sleeps")
        func idle() async throws {
            // A second is what this body takes.
            let rig = try BackgroundRig { request in
                request.path == "/second"
                    ? .generated(length: 100_000, seed: 1).throttled(bytesPerSecond: 100_000) : .text("hello")
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            try await rig.wait { rig.stateFiles == [] }
            let pid = try #require(rig.agentPid)
            // What follows the end is over some time. Then one thread is woken once a second: by Dispatch, to look at its pools of threads.
            let clock = URLSession(configuration: .ephemeral)
            // Two such seconds in a row are no pause between two moments of work.
            var quiet = 0
            while quiet < 2 {
                let (before, start) = (wakeUps(of: pid), DispatchTime.now())
                _ = try await clock.data(from: rig.url("/second"))
                let after = wakeUps(of: pid)
                #expect(!after.isEmpty)
                let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
                let woken = after.map { $0.value - (before[$0.key] ?? 0) }.filter { $0 > 0 }
                let isQuiet = woken.count <= 1 && Double(woken.first ?? 0) <= 2 * seconds
                quiet = isQuiet ? quiet + 1 : 0
            }
            clock.invalidateAndCancel()
        }

        /// How often each thread of the process has been woken, by its number.
        private func wakeUps(of pid: pid_t) -> [String: Int] {
            let folder = "/proc/\(pid)/task"
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            var counts: [String: Int] = [:]
            for thread in threads where !isSanitizer(thread, of: pid) {
                let status = (try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)) ?? ""
                let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
                counts[thread] = line?.split(separator: "\t").last.flatMap { Int($0) }
            }
            return counts
        }

        /// Whether a thread is a sanitizer's own: it has the process's name, whereas Dispatch names the agent's.
        private func isSanitizer(_ thread: String, of pid: pid_t) -> Bool {
            guard ProcessUsage.isSanitized, thread != "\(pid)" else { return false }
            let names = ["\(pid)", thread].map {
                try? String(contentsOfFile: "/proc/\(pid)/task/\($0)/comm", encoding: .utf8)
            }
            return names[0] == names[1]
        }

        // MARK: - systemd

        @Test("A socket that systemd passes is the agent's alone, and stays when it goes")
        func systemd() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            try FileManager.default.createDirectory(at: rig.folder, withIntermediateDirectories: false)
            // As systemd does: listens, and starts the agent when a client connects.
            let manager = try ChildProcess(
                [
                    "python3", "-c",
                    """
                    import os, select, socket, sys
                    listener = socket.socket(socket.AF_UNIX)
                    os.umask(0o177)
                    listener.bind(sys.argv[1] + "/agent.socket")
                    listener.listen()
                    print("listens", flush=True)
                    select.select([listener], [], [])
                    os.dup2(listener.fileno(), 3)
                    os.set_inheritable(3, True)
                    os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
                    os.execv(sys.argv[2], [sys.argv[2], "--systemd", sys.argv[1]])
                    """, rig.folder.path, BackgroundRig.agent.path,
                ],
                mergesErrors: true
            )
            #expect(await manager.line() == "listens")
            #expect(rig.agentPid == nil)
            let delegate = RecordingDelegate()
            // No other agent can be had.
            let session = rig.session(delegate) {
                $0.curl.background.agent = rig.directory.url.appendingPathComponent("none")
            }
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await delegate.success(of: task)
            #expect(rig.agentPid == manager.pid)
            let listener = try String(contentsOfFile: "/proc/\(manager.pid)/fdinfo/3", encoding: .utf8)
            let flags = listener.split(separator: "\n").first { $0.hasPrefix("flags:") }?.split(separator: "\t").last
            #expect(flags.flatMap { Int32($0, radix: 8) }.map { $0 & O_CLOEXEC } == O_CLOEXEC)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
            #expect(try await answer(toVersion: Self.newer, rig) == .version(Hello.currentVersion))
            #expect(await manager.ending() == .exit(0))
            #expect(access(rig.folder.appendingPathComponent("agent.socket").path, F_OK) == 0)
        }
    }
}
