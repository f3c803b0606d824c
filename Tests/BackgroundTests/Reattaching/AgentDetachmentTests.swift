import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("What an agent has of the program that started it")
    struct AgentDetachment {
        @Test("An agent has no terminal, leads a session of its own, and inherits none of the program's descriptors")
        func detached() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            // The program inherits both ends: they have no FD_CLOEXEC.
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            defer { for end in ends { close(end) } }
            let inherited = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(ends[1])")
            let program = try TerminalProgram(
                [BackgroundRig.helper.path, rig.folder.path, rig.identifier, rig.directory.url.path],
                environment: ["TMPDIR": rig.directory.url.path]
            )
            try await program.shows("ready")
            program.type("download \(rig.url("/")) one\n")
            try await rig.server.waitForRequests(1)
            let agent = try #require(rig.agentPid)

            let (itsFiles, programsFiles) = (try openFiles(of: agent), try openFiles(of: program.pid))
            #expect(programsFiles.contains(inherited) && programsFiles.contains { $0.hasPrefix("/dev/pts/") })
            #expect(itsFiles.contains("/dev/null"))
            #expect(!itsFiles.contains(inherited) && !itsFiles.contains { $0.hasPrefix("/dev/pts/") })

            let (its, programs) = (try session(of: agent), try session(of: program.pid))
            #expect(programs.leader == program.pid && programs.terminal != 0)
            #expect(its.leader == agent && its.terminal == 0)

            kill(program.pid, SIGKILL)
            #expect(try await program.ending() == .signal(SIGKILL))
        }

        /// What the process has open, such as `pipe:[4711]`.
        private func openFiles(of pid: pid_t) throws -> Set<String> {
            let folder = "/proc/\(pid)/fd"
            let numbers = try FileManager.default.contentsOfDirectory(atPath: folder)
            let files = numbers.compactMap { number in
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
            }
            return Set(files)
        }

        /// The leader of the process's session, and the number of its controlling terminal, 0 for none (proc_pid_stat(5)).
        private func session(of pid: pid_t) throws -> (leader: pid_t, terminal: Int) {
            let line = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            // After the name, which is in parentheses and may have spaces: state, parent, group, session, terminal.
            let fields = try #require(line.split(separator: ")").last).split(separator: " ")
            try #require(fields.count > 4)
            return (try #require(pid_t(fields[3])), try #require(Int(fields[4])))
        }
    }
}
