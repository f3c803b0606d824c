import CurlNetworkingLocks
import CurlTransport
import Foundation
import Glibc

/// A process that is an agent, and how it becomes one.
///
/// A program starts a *starter*, which starts the agent, waits until the agent is listening, and exits. So the agent is not the program's
/// child, and the program never waits for long.
enum AgentProcess {
    static let startArgument = "--curlnetworking-agent-start"
    static let runArgument = "--curlnetworking-agent-run"

    /// The starter's own exit statuses; others are the agent's.
    enum Status {
        /// An agent is listening, this one or another.
        static let listens: Int32 = 0
        static let cannotStart: Int32 = 71
        static let cannotUseFolder: Int32 = 73
        /// The agent was killed before it was listening: another may be started.
        static let wasKilled: Int32 = 75
        static let usage: Int32 = 64
    }

    /// The arguments of a starter.
    static func arguments(for folder: StateFolder, idleTime: Duration) -> [String] {
        [startArgument, folder.url.path, String(idleTime / .seconds(1))]
    }

    /// Whether a process with these arguments was started as an agent.
    static func isAsked(_ arguments: [String] = CommandLine.arguments) -> Bool {
        arguments.count >= 2 && [startArgument, runArgument].contains(arguments[1])
    }

    /// Returns if the process wasn't started as an agent.
    static func runIfAsked(_ arguments: [String] = CommandLine.arguments) {
        guard isAsked(arguments) else { return }
        guard arguments.count == 4, arguments[2].hasPrefix("/"), let idle = Double(arguments[3]), idle >= 0, idle < 1e9
        else {
            _exit(Status.usage)
        }
        if arguments[1] == startArgument { start(Array(arguments.dropFirst(2))) }
        run(StateFolder(URL(fileURLWithPath: arguments[2], isDirectory: true)), idleTime: .seconds(idle), ready: 3)
    }

    /// The starter.
    private static func start(_ arguments: [String]) -> Never {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { _exit(Status.cannotStart) }
        // There is no other thread that could start a program in between.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let words = [CommandLine.arguments[0], runArgument] + arguments
        // Started by path, so that process listings show its name.
        let program = AgentLauncher.runningProgram ?? "/proc/self/exe"
        guard let pid = try? Spawn.run(words, named: program, descriptor: ends[1]) else {
            _exit(Status.cannotStart)
        }
        close(ends[1])
        var byte: UInt8 = 0
        let count = uninterrupted { read(ends[0], &byte, 1) }
        // If no byte arrived, the agent has exited: another is running, or it can't run.
        _exit(count == 1 ? Status.listens : Spawn.wait(for: pid) ?? Status.wasKilled)
    }

    /// The agent.
    ///
    /// - Parameters:
    ///   - ready: A descriptor to which a byte is written once the agent is listening.
    ///   - socket: A descriptor to listen on.
    static func run(_ folder: StateFolder, idleTime: Duration, ready: Int32? = nil, socket: Int32? = nil) -> Never {
        closeDescriptors(except: [ready, socket].compactMap(\.self))
        setsid()
        _ = chdir("/")
        InheritedAttributes.replace()
        for number in [SIGPIPE, SIGHUP, SIGCHLD, SIGXFSZ] { signal(number, SIG_IGN) }
        // Blocked before other threads start, which inherit this: the agent reads the signal itself.
        var termination = sigset_t()
        sigemptyset(&termination)
        sigaddset(&termination, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &termination, nil)
        do throws(BackgroundAgent.Failure) {
            let agent = try BackgroundAgent(in: folder, idleTime: idleTime)
            try agent.start(on: socket)
            if let ready {
                _ = write(ready, "R", 1)
                close(ready)
            }
            running.withLock { $0 = agent }
        } catch {
            switch error {
            case .isTaken: _exit(Status.listens)
            case .system(let text):
                StandardError.write("curlnetworking-agent: \(text)")
                _exit(Status.cannotUseFolder)
            }
        }
        // The agent ends the process.
        while true { pause() }
    }

    /// The process's agent.
    private static let running = Mutex<BackgroundAgent?>(nil)

    /// Closes the descriptors inherited from the program that started the agent.
    private static func closeDescriptors(except kept: [Int32]) {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in open.compactMap({ Int32($0) }) where descriptor > 2 && !kept.contains(descriptor) {
            close(descriptor)
        }
    }
}
