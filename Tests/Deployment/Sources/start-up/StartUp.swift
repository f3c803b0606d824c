import Foundation
import Glibc

/// `start-up RUNS URL PROGRAM…`: what it takes to start each program, have it fetch URL, and end.
///
/// The programs take turns, and the least of all runs counts: whatever else the machine did has only added to it.
@main
enum StartUp {
    /// In seconds.
    struct Cost {
        var wall = Double.infinity
        var cpu = Double.infinity
        var peakMebibytes = Double.infinity

        mutating func lower(to other: Cost) {
            wall = min(wall, other.wall)
            cpu = min(cpu, other.cpu)
            peakMebibytes = min(peakMebibytes, other.peakMebibytes)
        }
    }

    static func main() throws {
        let words = CommandLine.arguments
        guard words.count > 3, let runs = Int(words[1]), runs > 0 else {
            throw Failure(description: "start-up RUNS URL PROGRAM…")
        }
        let programs = words[3...]
        var costs = programs.map { _ in Cost() }
        for _ in 0..<runs {
            for (index, program) in programs.enumerated() {
                costs[index].lower(to: try run(program, words[2]))
            }
        }
        for (program, cost) in zip(programs, costs) {
            let numbers = [cost.wall * 1000, cost.cpu * 1000, cost.peakMebibytes].map { String(format: "%.1f", $0) }
            print(([program] + numbers).joined(separator: " "))
        }
    }

    private static func run(_ program: String, _ url: String) throws -> Cost {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments = [strdup(program), strdup(url), nil]
        defer { for argument in arguments { free(argument) } }

        let begin = ContinuousClock.now
        var pid = pid_t()
        let code = posix_spawn(&pid, program, &actions, nil, &arguments, environ)
        guard code == 0 else { throw Failure(description: "\(program): \(String(cString: strerror(code)))") }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(pid, &status, 0, &usage) < 0, errno == EINTR {}
        let wall = ContinuousClock.now - begin
        guard status == 0 else { throw Failure(description: "\(program) failed with \(url)") }
        return Cost(
            wall: wall / .seconds(1),
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peakMebibytes: Double(usage.ru_maxrss) / 1024
        )
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
