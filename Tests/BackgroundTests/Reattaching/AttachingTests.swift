import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Programs and their agent")
    struct Attaching {
        @Test("A second program with the same identifier is refused, and the first isn't disturbed")
        func inUse() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)

            let task = rig.download()
            let error = try await rig.delegate.completion(of: task)
            #expect(error?.code == .backgroundSessionInUseByAnotherProcess && error?.failingURL == rig.url("/"))
            #expect(await rig.session.allTasks.isEmpty)
            rig.session.invalidateAndCancel()
            gate.open()
            try await first.line(beginningWith: "completed one ok")
            await first.crash()
        }

        @Test("Of a program's sessions with one identifier, the first has it, whichever gets the first task")
        func inUseHere() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            _ = rig.session
            let delegate = RecordingDelegate()
            let second = rig.session(delegate)
            defer { second.invalidateAndCancel() }
            func download() -> URLSessionTask {
                let task = second.downloadTask(with: rig.url("/"))
                task.resume()
                return task
            }
            #expect(try await delegate.completion(of: download())?.code == .backgroundSessionInUseByAnotherProcess)
            try await rig.delegate.success(of: rig.download())
            try await rig.finish()
            try await delegate.success(of: download())
        }

        @Test("A new task has its own program's configuration, whatever an earlier program's tasks are doing")
        func newConfiguration() async throws {
            let gate = Gate()
            let rig = try BackgroundRig(configure: { $0.httpAdditionalHeaders = ["X-Program": "second"] }) { request in
                request.path == "/held" ? .text("held").after([.waitFor(gate)]) : .text("hello")
            }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/held")) held")
            try await rig.server.waitForRequests(1)
            await first.crash()

            let held = try #require(await rig.session.allTasks.first)
            try await rig.delegate.success(of: rig.download())
            #expect(rig.server.requests.map { $0.header("X-Program") } == [nil, "second"])
            gate.open()
            try await rig.delegate.success(of: held)
            #expect(rig.server.requestCount == 2)
            try await rig.finish()
        }

        @Test("A task that waits for its host goes on with the next program's configuration")
        func newConfigurationWhileWaiting() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            try await rig.leaveWaitingTask()

            let session = rig.session(rig.delegate) { configuration in
                configuration.curl.hosts["127.0.0.1:9"].names.connectTo = .init("127.0.0.1", port: rig.server.port)
            }
            defer { session.invalidateAndCancel() }
            try await rig.server.waitForRequests(1)
            #expect(rig.server.requests.first?.header("Host") == "127.0.0.1:9")
        }

        @Test("A POST without a body whose host has come up isn't sent again with the next program's configuration")
        func hostThatHasComeUp() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let port = try LoopbackServer.unusedPort()
            let first = try await rig.readyProgram()
            first.say("post http://127.0.0.1:\(port)/ one 0")
            try await first.line(beginningWith: "waiting one")
            let gate = Gate()
            let server = try LoopbackServer(port: port) { _ in .text("hello").after([.waitFor(gate)]) }
            defer { server.stop() }
            try await server.waitForRequests(1)
            await first.crash()

            let session = rig.session(rig.delegate) { $0.httpAdditionalHeaders = ["X-Program": "second"] }
            defer { session.invalidateAndCancel() }
            let task = try #require(await session.allTasks.first)
            gate.open()
            try await rig.delegate.success(of: task)
            #expect(server.requestCount == 1)
        }

        @Test("A task that waits for its host has the next program's time-out")
        func newTimeoutWhileWaiting() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            try await rig.leaveWaitingTask()

            let session = rig.session(rig.delegate) { $0.timeoutIntervalForResource = 1 }
            defer { session.invalidateAndCancel() }
            try await rig.delegate.record.wait { $0.completions[1] != nil }
            let error = try #require(rig.delegate.record.value.completions[1]?.first ?? nil)
            #expect(error.code == .timedOut)
        }

        @Test("Each program's tasks go through the proxy in its own environment, even if another has started the agent")
        func environment() async throws {
            let rig = try BackgroundRig { .text($0.target) }
            defer { rig.end() }
            let first = try await rig.readyProgram(identifier: "first", after: "unset http_proxy all_proxy no_proxy")
            first.say("download \(rig.url("/direct")) one")
            try await first.line(beginningWith: "completed one ok")
            let set = "unset no_proxy; export http_proxy=127.0.0.1:\(rig.server.port)"
            let second = try await rig.readyProgram(identifier: "second", after: set)
            second.say("download http://nobody.invalid/ two")
            try await second.line(beginningWith: "completed two ok")
            #expect(rig.file("one") == Data("/direct".utf8))
            #expect(rig.file("two") == Data("http://nobody.invalid/".utf8))
            await first.crash()
            await second.crash()
        }

        @Test("A task that waits for a place at its host goes on with the next program's configuration")
        func newConfigurationWhileQueued() async throws {
            let gate = Gate()
            let rig = try BackgroundRig(configure: { $0.httpAdditionalHeaders = ["X-Program": "second"] }) { request in
                request.path == "/held" ? .text("held").after([.waitFor(gate)]) : .text("hello")
            }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            let places = URLSessionConfiguration.default.httpMaximumConnectionsPerHost
            for number in 0..<places { first.say("download \(rig.url("/held")) held\(number)") }
            try await rig.server.waitForRequests(places)
            first.say("download \(rig.url("/queued")) queued")
            first.say("flush")
            try await first.line(beginningWith: "flushed")
            await first.crash()

            let tasks = await rig.session.allTasks
            #expect(tasks.count == places + 1)
            // The places are still taken.
            try await rig.server.waitForRequests(places + 1)
            #expect(rig.server.requests.last?.header("X-Program") == "second")
            gate.open()
            for task in tasks.compactMap({ $0 as? URLSessionDownloadTask }) { try await rig.delegate.success(of: task) }
            #expect(rig.server.requestCount == places + 1)
            try await rig.finish()
        }

        @Test("The identifier is free again once a session has become invalid")
        func oneAfterTheOther() async throws {
            let rig = try BackgroundRig { .text($0.path) }
            defer { rig.end() }
            for _ in 0..<10 {
                let delegate = AnsweringDelegate()
                let session = rig.session(delegate)
                session.downloadTask(with: rig.url("/")).resume()
                session.finishTasksAndInvalidate()
                try await delegate.isInvalid.wait { $0 }
                #expect(delegate.result.value == .success(200))
            }
        }

        @Test("Sessions of different names share an agent, and nothing else, even if the names are equal to Swift")
        func severalSessions() async throws {
            let rig = try BackgroundRig { .text($0.path) }
            defer { rig.end() }
            let programs = try ["a", "../b", "\u{E9}", "e\u{301}"].map { try rig.program(identifier: $0) }
            for (index, program) in programs.enumerated() {
                try await program.line(beginningWith: "ready")
                program.say("download \(rig.url("/\(index)")) file\(index)")
            }
            for (index, program) in programs.enumerated() {
                try await program.line(beginningWith: "completed file\(index) ok")
                #expect(rig.file("file\(index)") == Data("/\(index)".utf8))
            }
            #expect(rig.log.components(separatedBy: " started, ").count == 2)
            for program in programs { await program.crash() }
        }

        @Test("An agent whose socket is deleted makes another")
        func deletedSocket() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            try await first.line(beginningWith: "completed one ok")
            let pid = rig.agentPid
            try FileManager.default.removeItem(at: rig.folder.appendingPathComponent("agent.socket"))
            try await rig.waitForLog { $0.contains("made its socket anew") }

            let second = try await rig.readyProgram(identifier: "other")
            second.say("download \(rig.url("/")) two")
            try await second.line(beginningWith: "completed two ok")
            #expect(rig.agentPid == pid)
            await first.crash()
            await second.crash()
        }

        @Test("An agent whose folder is moved ends, and its tasks go on where the folder is moved back")
        func movedFolder() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            try await rig.leaveWaitingTask()
            let moved = rig.directory.url.appendingPathComponent("moved")
            try FileManager.default.moveItem(at: rig.folder, to: moved)
            let log = moved.appendingPathComponent("agent.log")
            try await rig.wait {
                (try? String(contentsOf: log, encoding: .utf8))?.contains("ends: its lock is gone") == true
            }

            let second = try await rig.readyProgram(identifier: "other")
            second.say("download \(rig.url("/")) two")
            try await second.line(beginningWith: "completed two ok")
            await second.crash()
            rig.killAgent()
            try FileManager.default.removeItem(at: rig.folder)
            try FileManager.default.moveItem(at: moved, to: rig.folder)
            let third = try rig.program()
            try await third.line(beginningWith: "restored 1 one 0")
            await third.crash()
        }

        @Test("An agent that may end at once has every task of the programs that start it")
        func noIdleTime() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            // Each one comes when the agent of the one before is about to go.
            for _ in 0..<10 {
                let delegate = RecordingDelegate()
                let session = rig.session(delegate) { $0.curl.background.idleTime = .zero }
                let task = session.downloadTask(with: rig.url("/"))
                task.resume()
                try await delegate.success(of: task)
                session.finishTasksAndInvalidate()
                try await delegate.invalidation()
            }
            rig.waitForAgentToEnd()
            #expect(rig.stateFiles == [])
        }

        @Test("An agent that dies soon after each welcome isn't started for ever: the task fails")
        func dyingAgent() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let task = rig.download()
            for number in 1...8 {
                try await agent.greet(number)
                _ = try await agent.submissions(number)
                agent.hangUp()
            }
            #expect(try await rig.delegate.completion(of: task)?.code == .backgroundSessionWasDisconnected)
        }

        @Test("The launch command is run once everything is done and no program is attached")
        func launchCommand() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let place = rig.directory.url.appendingPathComponent("launched")
            let command =
                "printf %s \"$CURLNETWORKING_BACKGROUND_SESSION\" >'\(place.path).new'; mv '\(place.path).new' '\(place.path)'"
            let program = try await rig.readyProgram(identifier: "a session", launchCommand: command)
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            await program.crash()
            gate.open()
            try await rig.wait { rig.file("launched") == Data("a session".utf8) }
        }

        @Test("The launch command has its program's umask and limit of descriptors, and only the standard descriptors")
        func launchedProcess() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let place = rig.directory.url.appendingPathComponent("launched").path
            // The limit is set when the process is there.
            let command = """
                umask >'\(place).new'; pwd >>'\(place).new'; ls /proc/self/fd >>'\(place).new'
                until [ "$(ulimit -Sn)" = 300 ]; do :; done; mv '\(place).new' '\(place)'
                """
            let program = try await rig.readyProgram(launchCommand: command, after: "umask 27; ulimit -Sn 300")
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            await program.crash()
            gate.open()
            try await rig.wait { rig.file("launched") != nil }
            // The last descriptor is that of the directory.
            #expect(rig.file("launched") == Data("0027\n/\n0\n1\n2\n3\n".utf8))
        }

        /// A program makes the session, and goes without taking an end.
        private func comeAndGo(_ configuration: URLSessionConfiguration, _ rig: BackgroundRig) async throws {
            let hello = Hello(
                identifier: rig.identifier,
                settings: SessionDescription(configuration, delegate: nil)
            )
            let launcher = AgentLauncher(folder: StateFolder(rig.folder), options: configuration.curl.background)
            _ = try await AgentInquiry.ask(.hello(hello), launcher)
        }

        @Test(
            "The launch command is run once, even if a program comes and goes without taking an end, and the agent ends"
        )
        func launchedOnce() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let program = try await rig.readyProgram(launchCommand: "true")
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            await program.crash()
            gate.open()
            try await rig.waitForLog { $0.contains("launch command: process") }
            rig.waitForAgentToEnd()

            let configuration = rig.configuration {
                $0.curl.background.launchCommand = ["true"]
                $0.curl.background.idleTime = .zero
            }
            try await comeAndGo(configuration, rig)
            rig.waitForAgentToEnd()
            #expect(rig.log.components(separatedBy: "attached by").count == 3)
            #expect(rig.log.components(separatedBy: "launch command:").count == 2)
        }

        @Test("No launch command is run if the last program wanted no launch events, and the agent ends without it")
        func noLaunchEvents() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let program = try await rig.readyProgram(launchCommand: "true")
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            await program.crash()

            let configuration = rig.configuration {
                $0.curl.background.launchCommand = ["true"]
                $0.sessionSendsLaunchEvents = false
            }
            try await comeAndGo(configuration, rig)
            gate.open()
            // One that has a command to run stays until it has run it.
            rig.waitForAgentToEnd()
            #expect(rig.log.contains(": done, "))
            #expect(rig.log.components(separatedBy: "attached by").count == 3)
            #expect(!rig.log.contains("launch command:"))
        }

        @Test("The user can end all transfers, and the program is told why")
        func forceQuit() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            let task = rig.download("/a?secret")
            _ = try await rig.server.request(number: 1)
            let status = try ChildProcess([BackgroundRig.agent.path, "--status", rig.folder.path])
            let lines = await status.remainingLines()
            #expect(lines.contains("    1  download  running  0 bytes  \(rig.url("/a"))"))
            let quitting = try ChildProcess([BackgroundRig.agent.path, "--cancel-all", rig.folder.path])
            #expect(await quitting.ending() == .exit(0))
            let error = try await rig.delegate.completion(of: task)
            #expect(error?.code == .cancelled)
            #expect(error?.backgroundTaskCancelledReason == .userForceQuitApplication)
        }

        @Test("Challenges go to the program's delegate, and wait where no program is attached")
        func challenge() async throws {
            let rig = try BackgroundRig { request in
                if request.header("Authorization") == "Basic dTpw" { return .text("welcome") }
                return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
            }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            // Its delegate has no method for challenges, so the answer is the default, and the 401 the response.
            first.say("download \(rig.url("/")) one")
            try await first.line(beginningWith: "completed one ok")
            // The end was acknowledged.
            try await rig.wait { rig.stateFiles == [] }
            await first.crash()
            #expect(rig.file("one") == Data())

            let delegate = DecidingDelegate(rig)
            let session = rig.session(delegate)
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await delegate.end.wait { $0 }
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
            #expect(rig.file("decided") == Data("welcome".utf8))
            session.invalidateAndCancel()
        }

        private final class DecidingDelegate: NSObject, URLSessionDownloadDelegate {
            let end = Watched(false)
            private let rig: BackgroundRig

            init(_ rig: BackgroundRig) {
                self.rig = rig
            }

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                didReceive challenge: URLAuthenticationChallenge
            ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
                (.useCredential, URLCredential(user: "u", password: "p", persistence: .forSession))
            }

            func urlSession(
                _ session: URLSession,
                downloadTask: URLSessionDownloadTask,
                didFinishDownloadingTo location: URL
            ) {
                try? FileManager.default.moveItem(at: location, to: rig.directory.url.appendingPathComponent("decided"))
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                end.update { $0 = true }
            }
        }
    }
}
