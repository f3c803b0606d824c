import CurlNetworkingLocks
import Foundation
import Glibc

/// Another instance of this program, in its own process.
final class ChildProcess: Sendable {
    enum Event: Sendable {
        case line(String)
        /// The last event. nil if a signal ended it.
        case ended(status: Int32?)
    }

    private struct Streams {
        var unfinishedLine = Data()
        var isOutputClosed = false
        var end: Event?
    }

    private let process = Process()
    private let streams = Mutex(Streams())
    private let report: @Sendable (Event) -> Void

    /// - Parameter report: Called on any thread: with the lines of the output, then with the end.
    init(report: @escaping @Sendable (Event) -> Void) {
        self.report = report
    }

    var identifier: Int32 { process.processIdentifier }

    /// - Parameter environment: Added to this process's.
    func start(_ arguments: [String], environment: [String: String] = [:]) throws {
        let output = Pipe()
        process.executableURL = try Self.executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.terminationHandler = { [self] process in
            ended(status: process.terminationReason == .exit ? process.terminationStatus : nil)
        }
        try process.run()
        let thread = Thread { [self] in follow(output.fileHandleForReading) }
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// Reads to the end. On its own thread: a `readabilityHandler` may crash the program when the other end hangs up
    /// (swift-corelibs-libdispatch issue 949).
    private func follow(_ output: FileHandle) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output.fileDescriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            received(Data(buffer.prefix(max(0, count))))
            if count <= 0 { return }
        }
    }

    func terminate() {
        if process.isRunning { process.terminate() }
    }

    /// As `kill -9` does.
    func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }

    /// This program's executable, even if the shell found it in the search path.
    private static var executable: URL {
        get throws {
            URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        }
    }

    /// - Parameter data: Empty at the end.
    private func received(_ data: Data) {
        let events = streams.withLock { streams in
            streams.unfinishedLine += data
            var pieces = streams.unfinishedLine.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            streams.unfinishedLine = Data(pieces.popLast() ?? Data())
            streams.isOutputClosed = data.isEmpty
            return pieces.map { Event.line(String(decoding: $0, as: UTF8.self)) } + Self.takeEnd(&streams)
        }
        for event in events { report(event) }
    }

    private func ended(status: Int32?) {
        let events = streams.withLock { streams in
            streams.end = .ended(status: status)
            return Self.takeEnd(&streams)
        }
        for event in events { report(event) }
    }

    /// The end also waits for the output to be closed.
    private static func takeEnd(_ streams: inout Streams) -> [Event] {
        guard streams.isOutputClosed, let end = streams.end else { return [] }
        streams.end = nil
        return [end]
    }
}
