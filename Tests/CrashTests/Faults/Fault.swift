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
        "descriptors": true, "full-disk": true, "broken-disk": false, "locks": true, "watches": true,
        "curl-memory": true, "curl-work": true, "interruptions": false, "short-reads": false, "short-writes": false,
        "resets": false, "names": true, "slow-names": false,
    ]

    var testDescription: String { "\(kind)\(isForGood ? " for good" : "") in \(program.rawValue)" }

    /// The same in one word, for command lines.
    var name: String { testDescription.replacingOccurrences(of: " ", with: "-") }

    /// Whether a step may end by its time-out, as where a name takes long. Of everything else it is known at once.
    var mayTimeOut: Bool { kind == "names" || kind == "slow-names" }

    var lacksDescriptorsForGood: Bool { kind == "descriptors" && isForGood }

    /// Whether a step may fail. Where a call reads or writes less than it was asked for, another does the rest.
    var mayFail: Bool { kind != "short-reads" && kind != "short-writes" }

    func environment(at number: Int, counter: URL, report: URL) -> [String: String] {
        var variables = [
            "FAULT": kind, "FAULT_AT": "\(number)", "FAULT_PROGRAM": program.rawValue, "FAULT_COUNTER": counter.path,
            "FAULT_REPORT": report.path,
        ]
        if isForGood { variables["FAULT_FOR_GOOD"] = "1" }
        return variables
    }
}
