import Foundation
import Glibc

/// A running program that is spoken to line by line; what it writes to its error stream goes to a file.
///
/// It ends with the benchmark at the latest: by `Cleanup`, or, should the benchmark itself be killed, by the kernel
/// where `setpriv` is installed. (The kernel watches the thread that started it; the driver uses only its main one.)
final class Program {
    enum Reply {
        case line(String)
        case timeout
        case end
    }

    private static let setpriv = "/usr/bin/setpriv"

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors: FileHandle
    private let lastSignal: Command.Signal
    private var received = Data()
    private var cleanup = 0

    init(_ command: Command) throws {
        errors = try Self.namelessFile()
        lastSignal = command.lastSignal
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let isTied = FileManager.default.isExecutableFile(atPath: Self.setpriv)
        process.arguments = (isTied ? [Self.setpriv, "--pdeathsig", command.lastSignal.name] : []) + command.words
        var environment = ProcessInfo.processInfo.environment.merging(command.environment) { $1 }
        environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        process.environment = environment
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let pid = process.processIdentifier
        cleanup = Cleanup.shared.add {
            kill(pid, command.lastSignal.rawValue)
            var end = siginfo_t()
            waitid(P_PID, id_t(pid), &end, WEXITED | WNOWAIT)
        }
    }

    var isRunning: Bool {
        process.isRunning
    }

    /// What the program and its children have taken of the CPU so far; those that have ended don't count.
    var cpuNanoseconds: Int64 {
        Self.cpuNanoseconds(of: process.processIdentifier)
    }

    private static func cpuNanoseconds(of process: pid_t) -> Int64 {
        let tasks = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return threads.reduce(0) { sum, thread in
            let own = numbers("\(tasks)/\(thread)/schedstat").first ?? 0
            return sum + numbers("\(tasks)/\(thread)/children").reduce(own) { $0 + cpuNanoseconds(of: pid_t($1)) }
        }
    }

    /// Those that a file holds.
    private static func numbers(_ path: String) -> [Int64] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(whereSeparator: \.isWhitespace).compactMap { Int64($0) }
    }

    /// Writes to the program's standard input. That it has ended shows at the next `readLine`.
    func send(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// The next line of the program's standard output.
    func readLine(timeout: Double) -> Reply {
        let deadline = Date(timeIntervalSinceNow: timeout)
        let descriptor = output.fileHandleForReading.fileDescriptor
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received = Data(received[received.index(after: end)...])
                return .line(line)
            }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = Glibc.poll(&poll, 1, Int32(max(deadline.timeIntervalSinceNow * 1000, 0)))
            guard ready >= 0 || errno != EINTR else { continue }
            guard ready > 0 else { return .timeout }
            let chunk = output.fileHandleForReading.availableData
            guard !chunk.isEmpty else { return .end }
            received.append(chunk)
        }
    }

    /// Closes the program's input, sends the last signal if that does not end it within a second, and says how it went.
    @discardableResult
    func finish() -> Command.Result {
        try? input.fileHandleForWriting.close()
        let deadline = Date(timeIntervalSinceNow: 1)
        while process.isRunning && Date() < deadline {
            usleep(1000)
        }
        if process.isRunning {
            kill(process.processIdentifier, lastSignal.rawValue)
        }
        process.waitUntilExit()
        Cleanup.shared.withdraw(cleanup)
        return Command.Result(
            status: process.terminationStatus,
            crashed: process.terminationReason == .uncaughtSignal,
            output: "",
            errors: errorText
        )
    }

    var errorText: String {
        try? errors.seek(toOffset: 0)
        return String(decoding: (try? errors.readToEnd()) ?? Data(), as: UTF8.self)
    }

    private static func namelessFile() throws -> FileHandle {
        let path = NSTemporaryDirectory() + "/bench-\(UUID().uuidString)"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Complaint("cannot create \(path): \(String(cString: strerror(errno)))") }
        unlink(path)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
