import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The log of a task's hops")
struct HopLogTests {
    private final class MeasuredTransfer: Transfer {
        let source = HopMetrics.Source.network
        let metrics: HopMetrics?
        let isPaused = false

        init(_ number: Int) throws {
            metrics = HopMetrics(try Sample.request("http://example.com/\(number)"))
        }

        func start() throws(URLError) {}
        func setPaused(_ isPaused: Bool) {}
        func cancel() {}
    }

    /// What is left of so many hops, by their numbers.
    private func kept(of count: Int) throws -> [Int] {
        try kept { log in for number in 0..<count { log.end(try MeasuredTransfer(number)) } }
    }

    private func kept(after work: (inout HopLog) throws -> Void) throws -> [Int] {
        let core = SessionCore(.ephemeral, settings: Sample.settings(), delegate: nil, delegateQueue: OperationQueue())
        let handle = TaskHandle(
            identifier: 1,
            session: core,
            request: try Sample.request(),
            consumer: .dataHandler { _, _, _ in }
        )
        var log = HopLog()
        try work(&log)
        let metrics = log.finish(for: handle, redirectCount: 0)
        return metrics.hops.compactMap { hop in hop.request.url.flatMap { Int($0.lastPathComponent) } }
    }

    @Test("An attempt that sent nothing counts only if the task ends with it")
    func attempts() throws {
        let ended = try kept { log in
            log.end(try MeasuredTransfer(1))
            log.forgetAttempt()
        }
        #expect(ended == [1])
        let repeated = try kept { log in
            log.end(try MeasuredTransfer(1))
            log.forgetAttempt()
            let second = try MeasuredTransfer(2)
            log.begin(try Sample.request(), second, isMeasured: true)
            log.end(second)
        }
        #expect(repeated == [2])
    }

    @Test("Up to 60 hops are kept, and of more the first 10 and the last 50")
    func bounds() throws {
        for count in [0, 1, 60] { #expect(try kept(of: count) == Array(0..<count)) }
        #expect(try kept(of: 61) == Array(0..<10) + Array(11..<61))
        #expect(try kept(of: 10_000) == Array(0..<10) + Array(9_950..<10_000))
    }
}
