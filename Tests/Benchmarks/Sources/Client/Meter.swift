import Foundation

/// Measures CPU, wall and memory of this process between `init` and `stop`.
struct Meter {
    private let clocks: [clockid_t]
    private let baselineKiB: Int
    private let wall: Int64
    private let cpu: Int64

    /// Forgets the process's memory peak so far and starts both clocks.
    ///
    /// - Parameter clocks: Those whose sum is the CPU time; others than this process's where the work is theirs.
    init(_ clocks: [clockid_t] = [CLOCK_PROCESS_CPUTIME_ID]) {
        self.clocks = clocks
        // https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html: 5 resets the peak resident set size.
        FileHandle(forWritingAtPath: "/proc/self/clear_refs")?.write(Data("5".utf8))
        baselineKiB = Self.statusKiB("VmRSS:")
        wall = Self.nanoseconds(CLOCK_MONOTONIC)
        cpu = Self.nanoseconds(clocks)
    }

    /// Stops both clocks first, then reads the memory peak.
    func stop() -> Reading {
        let cpu = Self.nanoseconds(clocks) - cpu
        let wall = Self.nanoseconds(CLOCK_MONOTONIC) - wall
        return Reading(cpu: cpu, wall: wall, baselineKiB: baselineKiB, peakKiB: Self.statusKiB("VmHWM:"))
    }

    /// User and system time of the whole process, all threads, as `getrusage` sums it.
    static var processCPUNanoseconds: Int64 {
        nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
    }

    private static func nanoseconds(_ clocks: [clockid_t]) -> Int64 {
        clocks.reduce(0) { $0 + nanoseconds($1) }
    }

    static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The value of one line of /proc/self/status; 0 when it cannot be read.
    private static func statusKiB(_ label: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(label) }) else { return 0 }
        return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
    }
}

/// What a meter shows; times in nanoseconds.
struct Reading {
    var cpu: Int64
    var wall: Int64
    var baselineKiB: Int
    var peakKiB: Int

    func report(_ tally: Tally) -> Report {
        Report(
            cpuNanoseconds: cpu,
            wallNanoseconds: wall,
            baselineKiB: baselineKiB,
            peakKiB: peakKiB,
            p99Nanoseconds: tally.p99Nanoseconds,
            failures: tally.failures,
            error: tally.firstError ?? "",
            protocol: tally.protocolName
        )
    }
}
