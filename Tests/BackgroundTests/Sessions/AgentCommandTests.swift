import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("The agent's command line and its log")
    struct Commands {
        private func run(
            _ words: String...,
            environment: [String: String] = [:]
        ) async throws -> (lines: [String], ending: ChildProcess.Ending) {
            let words = [BackgroundRig.agent.path] + words
            let program = try ChildProcess(words, environment: environment, mergesErrors: true)
            return (await program.remainingLines(), await program.ending())
        }

        @Test("--status shows who is attached to which session, and starts no agent")
        func status() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            let before = try await run("--status", rig.folder.path)
            #expect(before.lines == ["\(rig.folder.path): no agent runs"])
            #expect(before.ending == .exit(0))
            #expect(rig.agentPid == nil)
            let program = try await rig.readyProgram(identifier: "a\u{1b}[31m session")
            program.say("download \(rig.url("/one?token=x")) one")
            _ = try await rig.server.request(number: 1)
            let attached = try await run("--status", rig.folder.path)
            let task = "    1  download  running  0 bytes  \(rig.url("/one"))"
            #expect(
                attached.lines == ["\(rig.folder.path):", "  a[31m session: process \(program.pid)", task]
            )
            await program.crash()
            try await rig.waitForLog { $0.contains("detached") }
            let detached = try await run("--status", rig.folder.path)
            #expect(detached.lines == ["\(rig.folder.path):", "  a[31m session: no program attached", task])
        }

        @Test("A name stands for a folder in $XDG_STATE_HOME, or else in $HOME")
        func names() async throws {
            let named = try await run("--status", "name", environment: ["XDG_STATE_HOME": "/nowhere/state"])
            #expect(named.lines == ["/nowhere/state/curlnetworking/name: no agent runs"])
            let atHome = try await run("--status", "name", environment: ["XDG_STATE_HOME": "", "HOME": "/nowhere"])
            #expect(atHome.lines == ["/nowhere/.local/state/curlnetworking/name: no agent runs"])
        }

        @Test("--cancel-all works without a program, and the next one is told why its tasks have ended")
        func cancelAll() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            let program = try await rig.readyProgram()
            program.say("download \(rig.url("/")) one")
            _ = try await rig.server.request(number: 1)
            await program.crash()
            rig.killAgent()
            #expect(try await run("--cancel-all", rig.folder.path).ending == .exit(0))
            _ = await rig.session.allTasks
            try await rig.delegate.record.wait { $0.completions[1] != nil }
            let error = try #require(rig.delegate.record.value.completions[1]?.first ?? nil)
            #expect(error.code == .cancelled)
            #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        }

        @Test("The next program is told why its tasks ended, even if the agent is killed right after --cancel-all")
        func killedAfterCancelAll() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            let count = 20
            let program = try await rig.readyProgram()
            for number in 1...count { program.say("download \(rig.url("/\(number)")) \(number)") }
            program.say("flush")
            try await program.line(beginningWith: "flushed")
            await program.crash()
            #expect(try await run("--cancel-all", rig.folder.path).ending == .exit(0))
            rig.killAgent()
            _ = await rig.session.allTasks
            try await rig.delegate.record.wait { $0.completions.count == count }
            for error in rig.delegate.record.value.completions.values.flatMap({ $0 }) {
                #expect(error?.backgroundTaskCancelledReason == .userForceQuitApplication)
            }
        }

        @Test("--cancel-all says that a folder isn't there, and makes none")
        func mistyped() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.url.appendingPathComponent("none").path
            let (lines, ending) = try await run("--cancel-all", path)
            #expect(lines == ["\(path): There are no background sessions."])
            #expect(ending == .exit(1))
            #expect(directory.content == [])
        }

        @Test("Without a name, --status lists all folders and nothing else, even if an agent can't be reached")
        func allFolders() async throws {
            let directory = try TemporaryDirectory()
            let all = directory.url.appendingPathComponent("curlnetworking", isDirectory: true)
            for name in ["a", "b"] {
                let sessions = all.appendingPathComponent("\(name)/sessions", isDirectory: true)
                try FileManager.default.createDirectory(at: sessions, withIntermediateDirectories: true)
            }
            try Data().write(to: all.appendingPathComponent("c"))
            let loop = all.appendingPathComponent("a/agent.socket").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
            let (lines, ending) = try await run("--status", environment: ["XDG_STATE_HOME": directory.url.path])
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("\(all.path)/a: The agent can't be reached") == true)
            #expect(lines.last == "\(all.path)/b: no agent runs")
            #expect(ending == .exit(1))
            let file = try await run("--status", all.appendingPathComponent("c").path)
            #expect(file.lines == ["\(all.path)/c: no agent runs"])
        }

        @Test("Without a name, and without any folder, that is said", arguments: ["--status", "--cancel-all"])
        func noFolders(option: String) async throws {
            let directory = try TemporaryDirectory()
            let (lines, ending) = try await run(option, environment: ["XDG_STATE_HOME": directory.url.path])
            #expect(lines == ["\(directory.url.path)/curlnetworking: There are no background sessions."])
            #expect(ending == .exit(0))
            #expect(directory.content == [])
        }

        @Test("--print-systemd-units names the socket, the folder and the program, as systemd reads them")
        func units() async throws {
            let folder = "/srv/50% off"
            let (lines, ending) = try await run("--print-systemd-units", folder)
            #expect(ending == .exit(0))
            #expect(lines.first?.hasPrefix("# ~/.config/systemd/user/curlnetworking-50off-") == true)
            #expect(lines.contains("ListenStream=/srv/50%% off/agent.socket"))
            #expect(lines.contains("SocketMode=0600"))
            #expect(lines.contains("ExecStart=\"\(BackgroundRig.agent.path)\" --systemd \"/srv/50%% off\""))
        }

        @Test("Each folder has units of its own")
        func unitNames() async throws {
            var names: Set<String?> = []
            for folder in ["my-app", "my.app", "myapp", "/srv/my-app"] {
                names.insert(try await run("--print-systemd-units", folder).lines.first)
            }
            #expect(names.count == 4)
        }

        @Test(
            "A wrong command line prints the usage, and an agent started by hand as systemd would says what is missing"
        )
        func usage() async throws {
            for words in [[], ["--what"], ["--status", "a", "b"], ["--systemd"]] {
                let program = try ChildProcess([BackgroundRig.agent.path] + words, mergesErrors: true)
                #expect(await program.line()?.hasPrefix("usage: curlnetworking-agent") == true, "\(words)")
                #expect(await program.ending() == .exit(64))
            }
            let systemd = try await run("--systemd", "/tmp/none")
            #expect(systemd.lines == ["curlnetworking-agent: systemd has passed no socket"])
            #expect(systemd.ending == .exit(64))
        }

        @Test("The log has a line for everything, without credentials and queries")
        func log() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            var components = try #require(URLComponents(url: rig.url("/path"), resolvingAgainstBaseURL: false))
            (components.user, components.password) = ("somebody", "secret1")
            (components.query, components.fragment) = ("token=secret2", "secret3")
            let url = try #require(components.url)
            let task = rig.session.downloadTask(
                with: URLRequest(url, headers: ["Authorization": "Bearer secret4", "Cookie": "a=secret5"])
            )
            task.resume()
            try await rig.delegate.success(of: task)
            try await rig.finish()
            let log = rig.log
            for text in ["started", "attached by", "task 1: \(rig.url("/path"))", "task 1: done, 5 bytes received"] {
                #expect(log.contains(text), "\(text)")
            }
            #expect(!log.contains("secret") && !log.contains("somebody"))
        }

        @Test("An agent that lets others connect and says nothing is waited for, but not for ever")
        func silentAgent() throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let folder = StateFolder(rig.folder)
            try folder.prepare()
            let listener = try UnixSocket.listen(StateFolder.socketName, in: folder.url)
            defer { close(listener) }
            let error = #expect(throws: URLError.self) {
                try AgentInquiry.askIfRunning(.status, folder, timeout: .zero)
            }
            #expect(error?.localizedDescription == "The agent didn't answer.")
        }

        @Test("A shared container's folder takes the place of the program's own, and no name leads elsewhere")
        func container() {
            let configuration = URLSessionConfiguration.background(withIdentifier: "a")
            let own = StateFolder(of: configuration).url
            #expect(own.lastPathComponent == UserFolder.programName)
            configuration.sharedContainerIdentifier = "group"
            #expect(StateFolder(of: configuration).url.path == own.deletingLastPathComponent().path + "/group")
            for (name, folder) in ["../x": "_.._x", "": "_", ".": "_.", "a/b": "a_b"] {
                configuration.sharedContainerIdentifier = name
                #expect(StateFolder(of: configuration).url.path == own.deletingLastPathComponent().path + "/" + folder)
            }
            let place = URL(fileURLWithPath: "/srv/state", isDirectory: true)
            configuration.curl.background.folder = place
            #expect(StateFolder(of: configuration).url.path == place.path)
        }
    }
}
