import Foundation
import TestSupport
import Testing

/// A few runs with each fault; `make faults` has all, and prints a table.
@Suite("When the system refuses something", .serialized, .timeLimit(.minutes(600)))
struct SystemFaultTests {
    /// "all", or what the names of faults contain.
    private static let wanted = ProcessInfo.processInfo.environment["CURLNETWORKING_FAULTS"]?.split(separator: " ")
    /// How many calls are passed over from one run to the next.
    private static let stride =
        ProcessInfo.processInfo.environment["CURLNETWORKING_FAULTS_STRIDE"].flatMap { Int($0) } ?? 1

    private static let faults = Fault.all.filter { fault in
        guard let wanted, wanted != ["all"] else { return true }
        return wanted.contains { fault.name.contains($0) }
    }

    @Test("There is a fault for each word that is asked for", .enabled(if: wanted != nil && wanted != ["all"]))
    func words() {
        #expect(!Self.faults.isEmpty)
        for word in Self.wanted ?? [] {
            #expect(Fault.all.contains { $0.name.contains(word) }, "there are \(Fault.all.map(\.name))")
        }
    }

    @Test(
        "Whatever call the system refuses, every step succeeds or fails clearly, without a trap, hang or leak",
        .enabled(if: !ProcessUsage.isSanitized),
        arguments: faults
    )
    func sweep(fault: Fault) async throws {
        let stage = try await FaultStage.shared.value
        var numbers =
            Self.wanted == nil ? [1, 12, 33, 45] : Array(Swift.stride(from: 1, through: 100_000, by: Self.stride))
        let atOnce = ProcessInfo.processInfo.activeProcessorCount + 1
        var (runs, runsWithErrors, runsWithFindings) = (0, 0, 0)
        var wasReached = true
        while wasReached, !numbers.isEmpty {
            let batch = numbers.prefix(atOnce)
            numbers.removeFirst(batch.count)
            let results = try await withThrowingTaskGroup(of: (Int, FaultRun).self) { group in
                for number in batch { group.addTask { (number, try await stage.run(fault, at: number)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (number, run) in results {
                if !run.wasReached { wasReached = false } else { runs += 1 }
                if !run.errors.isEmpty { runsWithErrors += 1 }
                if !run.findings.isEmpty { runsWithFindings += 1 }
                #expect(run.findings == [], "call \(number)\n\(run.errors.joined(separator: "\n"))\n\(run.report)")
            }
        }
        #expect(runs > 0)
        if Self.wanted != nil {
            print("| \(fault.testDescription) | \(runs) | \(runsWithErrors) | \(runsWithFindings) |")
            fflush(nil)
        }
    }
}
