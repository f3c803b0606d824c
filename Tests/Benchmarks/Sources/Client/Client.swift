// One contender's child process, on URLSession. This directory is compiled twice: as `bench-ours` with CurlNetworking
// and as `bench-stock` with FoundationNetworking: see `Transport.swift` there. No file here knows the difference.
//
// It warms up, prints "ready", and then measures one slice of its work for each line that it reads, and prints the
// result as one line of JSON.

import Foundation

@main
struct Client {
    /// An asynchronous `main` would end the main thread, and valgrind 3.19 crashes with that.
    static func main() {
        becomeAgentIfAsked()
        Task.detached { await run() }
        while true { pause() }
    }

    private static func run() async {
        do {
            let scenario = try makeScenario(Arguments(CommandLine.arguments.dropFirst()))
            var tally = try await scenario.warmUp()
            say("ready")
            while readLine() != nil {
                let report = await scenario.slice(&tally)
                say(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
                tally = Tally()
            }
            _exit(0)  // Tearing thousands of tasks down is not part of any case.
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func makeScenario(_ arguments: Arguments) throws -> any Scenario {
        switch arguments.scenario {
        case "get": Get(arguments)
        case "download": Download(arguments)
        case "files": Files(arguments)
        case "upload": Upload(arguments)
        case "slow": Slow(arguments)
        case "handshake": Handshake(arguments)
        case "idle": Idle(arguments)
        case "stream": try makeStream(arguments)
        case "background": try makeBackground(arguments)
        case "echo": Echo(arguments, isCompressed: false)
        case "deflate": Echo(arguments, isCompressed: true)
        case "send": Flow(arguments, .sending)
        case "receive": Flow(arguments, .receiving)
        case "sockets": Sockets(arguments, isOpenBefore: false)
        case "silence": Sockets(arguments, isOpenBefore: true)
        default: throw Complaint("unknown scenario \(arguments.scenario)")
        }
    }
}

/// One kind of work. The driver's catalogue says what each is for.
protocol Scenario {
    /// Connects, and has all code paths in memory. Returns what went wrong.
    func warmUp() async throws -> Tally

    /// Measures one slice of the work. `tally` holds what went wrong before.
    func slice(_ tally: inout Tally) async -> Report
}

/// What a child reports about one slice, as one line of JSON.
struct Report: Encodable {
    var cpuNanoseconds: Int64
    var wallNanoseconds: Int64
    var baselineKiB: Int
    var peakKiB: Int
    /// What 99 of 100 requests took at most; 0 where their times aren't taken.
    var p99Nanoseconds: Int64
    /// Requests whose outcome was not the expected one.
    var failures: Int
    /// The first failure in words.
    var error: String
    /// "HTTP/2.0" and the like, from the probe; empty without one.
    var `protocol`: String
}
