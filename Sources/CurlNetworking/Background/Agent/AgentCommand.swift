import Foundation

/// The command-line interface of the agent's program.
package enum AgentCommand {
    private static let usage = """
        usage: curlnetworking-agent --status [FOLDER | NAME]
               curlnetworking-agent --cancel-all [FOLDER | NAME]
               curlnetworking-agent --print-systemd-units [FOLDER | NAME]
               curlnetworking-agent --systemd FOLDER

        Does the transfers of CurlNetworking's background sessions, for whose programs it is started when they need it.

          --status               prints the sessions and their tasks
          --cancel-all           cancels all tasks, as if their program had been quit for good
          --print-systemd-units  prints user units that start the agent when a program connects
          --systemd              runs on the socket that systemd passes

        FOLDER is the folder with a program's state, with a slash in it; NAME is the program's name, for the one in
        $XDG_STATE_HOME/curlnetworking. Without either, those of all programs there.

        """

    /// Carries out `arguments`, which exclude the program's name, and returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        AgentProcess.runIfAsked()
        guard let option = arguments.first, arguments.count <= 2 else { return complainOfUse(usage) }
        let folders = arguments.count == 2 ? [folder(arguments[1])] : allFolders
        switch option {
        case "--status" where folders.isEmpty, "--cancel-all" where folders.isEmpty:
            print("\(parentFolder.path): There are no background sessions.")
            return EXIT_SUCCESS
        case "--help":
            print(usage, terminator: "")
            return 0
        case "--status": return status(of: folders)
        case "--cancel-all": return cancelAll(in: folders)
        case "--print-systemd-units":
            let program = AgentLauncher.runningProgram ?? "/usr/libexec/curlnetworking-agent"
            for folder in folders { print(SystemdUnits(folder: folder, program: program).text) }
            return 0
        case "--systemd" where arguments.count == 2: return runForSystemd(folders[0])
        default: return complainOfUse(usage)
        }
    }

    private static func folder(_ text: String) -> StateFolder {
        text.contains("/") ? StateFolder(URL(fileURLWithPath: text, isDirectory: true)) : StateFolder(named: text)
    }

    /// Contains the folders of all programs that have chosen none themselves.
    private static var parentFolder: URL { StateFolder(named: "any").url.deletingLastPathComponent() }

    private static var allFolders: [StateFolder] {
        let all = parentFolder
        let names = (try? FileManager.default.contentsOfDirectory(atPath: all.path)) ?? []
        return names.sorted().map { StateFolder(all.appendingPathComponent($0, isDirectory: true)) }.filter(\.isInUse)
    }

    private static func complain(_ text: String) {
        StandardError.write(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }

    private static func complainOfUse(_ text: String) -> Int32 {
        complain(text)
        return AgentProcess.Status.usage
    }

    /// Calls `body` for each folder, even after failures, and returns the exit status.
    private static func each(_ folders: [StateFolder], _ body: (StateFolder) throws(URLError) -> Void) -> Int32 {
        var status = EXIT_SUCCESS
        for folder in folders {
            do throws(URLError) {
                try body(folder)
            } catch {
                complain("\(folder.url.path): \(error.localizedDescription)")
                status = EXIT_FAILURE
            }
        }
        return status
    }

    // MARK: - Status and cancellation

    private static func status(of folders: [StateFolder]) -> Int32 {
        each(folders) { (folder) throws(URLError) in
            switch try AgentInquiry.askIfRunning(.status, folder) {
            case .status(let sessions):
                print("\(folder.url.path):")
                for session in sessions { print(table(of: session)) }
                if sessions.isEmpty { print("  no sessions") }
            case .refused(.other(let reason)): print("\(folder.url.path): \(reason)")
            default: print("\(folder.url.path): no agent runs")
            }
        }
    }

    /// Strips control characters, which a terminal would obey.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }

    private static func table(of session: SessionStatus) -> String {
        let program = session.pid.map { "process \($0)" } ?? "no program attached"
        var lines = ["  \(printable(session.identifier)): \(program)"]
        for task in session.tasks {
            let counters = task.counters
            let (done, all) =
                task.kind == "upload"
                ? (counters.sent, counters.expectedToSend) : (counters.received, counters.expectedToReceive)
            let bytes = all > 0 ? "\(done) of \(all) bytes" : "\(done) bytes"
            lines.append("    \(task.identifier)  \(task.kind)  \(task.state)  \(bytes)  \(printable(task.url))")
        }
        return lines.joined(separator: "\n")
    }

    private static func cancelAll(in folders: [StateFolder]) -> Int32 {
        var options = CurlOptions.Background()
        options.agent = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return each(folders) { (folder) throws(URLError) in
            // Starting an agent would create the folder.
            guard folder.isInUse else {
                throw URLError(.fileDoesNotExist, url: folder.url, "There are no background sessions.")
            }
            _ = try AgentInquiry.askNow(.cancelAll(session: nil), AgentLauncher(folder: folder, options: options))
        }
    }

    // MARK: - systemd

    private static func runForSystemd(_ folder: StateFolder) -> Int32 {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", environment["LISTEN_FDS"] == "1" else {
            return complainOfUse("curlnetworking-agent: systemd has passed no socket")
        }
        AgentProcess.run(folder, idleTime: CurlOptions.Background().idleTime, socket: 3)
    }
}
