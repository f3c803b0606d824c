import Foundation
import Testing

/// What goes wrong in a run. `Tests/Faults/faults.c` makes it happen.
struct Fault: Sendable, CustomTestStringConvertible {
    /// One of the names in `faults.c`.
    let kind: String
    let program: Program
    /// Whether all calls fail after the first that does.
    let isForGood: Bool

    enum Program: String, CaseIterable {
        case helper = "test-helper"
        case agent = "curlnetworking-agent"
    }

    static let all: [Fault] = kinds.flatMap { kind, isEverForGood in
        Program.allCases.flatMap { program in
            (isEverForGood ? [false, true] : [false]).map { Fault(kind: kind, program: program, isForGood: $0) }
        }
    }

    private static let kinds: KeyValuePairs = [
        "descriptors": true, "full-disk": true, "broken-disk": false, "watches": true,
        "curl-memory": true, "curl-work": true, "interruptions": false, "short-reads": false, "short-writes": false,
        "resets": false, "names": true, "slow-names": false,
    ]

    var testDescription: String { "\(kind)\(isForGood ? " for good" : "") in \(program.rawValue)" }

    /// Whether a step may end by its time-out, as where a name takes long. That there is no memory is known at once.
    var mayTimeOut: Bool { kind != "curl-memory" && kind != "curl-work" }

    func environment(at number: Int, counter: URL, report: URL) -> [String: String] {
        var variables = [
            "FAULT": kind, "FAULT_AT": "\(number)", "FAULT_PROGRAM": program.rawValue, "FAULT_COUNTER": counter.path,
            "FAULT_REPORT": report.path,
        ]
        if isForGood { variables["FAULT_FOR_GOOD"] = "1" }
        return variables
    }
}
