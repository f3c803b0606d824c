import Foundation

/// Counts requests that did not end as expected and keeps the first reason.
struct Tally: Sendable {
    private(set) var failures = 0
    private(set) var firstError: String?
    /// What was downloaded.
    private var files: [URL] = []
    /// What each request took, where that is taken.
    private var times: [Int64] = []
    /// What the probe said.
    var protocolName = ""

    mutating func note(_ failure: String?) {
        guard let failure else { return }
        failures += 1
        firstError = firstError ?? failure
    }

    mutating func note(nanoseconds: Int64) {
        times.append(nanoseconds)
    }

    mutating func note(file: URL) {
        files.append(file)
    }

    /// Notes which files aren't as long as they should be.
    mutating func removeFiles(expect: Int?) {
        for file in files {
            do {
                let bytes = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
                note(bytes == expect ? nil : "the file has \(bytes ?? 0) bytes")
                try FileManager.default.removeItem(at: file)
            } catch {
                note("\(error)")
            }
        }
        files = []
    }

    /// What 99 of 100 requests took at most; 0 where their times weren't taken.
    var p99Nanoseconds: Int64 {
        times.isEmpty ? 0 : times.sorted()[times.count * 99 / 100]
    }

    mutating func add(_ other: Tally) {
        times += other.times
        files += other.files
        failures += other.failures
        firstError = firstError ?? other.firstError
    }
}

/// Runs `body` `count` times in all, `lanes` at once.
func inLanes(_ count: Int, lanes: Int, _ body: @escaping @Sendable (inout Tally) async -> Void) async -> Tally {
    await withTaskGroup(of: Tally.self) { group in
        for lane in 0..<lanes {
            let share = count / lanes + (lane < count % lanes ? 1 : 0)
            group.addTask {
                var tally = Tally()
                for _ in 0..<share {
                    await body(&tally)
                }
                return tally
            }
        }
        return await group.reduce(into: Tally()) { $0.add($1) }
    }
}
