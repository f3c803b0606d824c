import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a task's Progress shows")
struct ProgressCountsTests {
    private static func counts(
        _ sent: Int64,
        _ toSend: Int64,
        _ received: Int64 = 0,
        _ toReceive: Int64? = nil
    ) -> [Int64] {
        let counts = ProgressCounts(sent: sent, of: toSend, received: received, of: toReceive)
        return [counts.completed, counts.total]
    }

    @Test("Before the response, a task's Progress is what has been sent, and never all of it")
    func sending() {
        #expect(Self.counts(0, 1000) == [0, 1000])
        #expect(Self.counts(500, 1000) == [500, 1000])
        #expect(Self.counts(1000, 1000) == [999, 1000])
        #expect(Self.counts(1, 1) == [1, 2])
        #expect(Self.counts(0, 0) == [0, -1])
        #expect(Self.counts(70, -1) == [70, -1])
    }

    @Test("After the response, a task's Progress is what has been sent and received, and never all of it")
    func receiving() {
        #expect(Self.counts(0, 0, 250, 1000) == [250, 1000])
        #expect(Self.counts(0, 0, 1000, 1000) == [999, 1000])
        #expect(Self.counts(1000, 1000, 5, 10) == [1005, 1010])
        #expect(Self.counts(100_000, -1, 400, 1000) == [100_400, 101_000], "a stream's length is what was sent")
        #expect(Self.counts(70, -1, 0, 0) == [70, -1], "a stream's last byte isn't taken back")
        #expect(Self.counts(0, 0, 0, 0) == [0, 1])
        #expect(Self.counts(0, 0, 1, 1) == [0, 1])
        #expect(Self.counts(0, 0, 20, 10) == [9, 10], "more than was announced")
    }

    @Test("A response of unknown length leaves an upload determinate, and a download not")
    func unknownLength() {
        #expect(Self.counts(1000, 1000, 0, -1) == [999, 1000])
        #expect(Self.counts(1000, 1000, 50, -1) == [1049, 1050])
        #expect(Self.counts(0, 0, 50, -1) == [50, -1])
    }

    @Test("The counts never overflow, whatever a server says")
    func extremes() {
        let extremes: [Int64] = [.min, -1, 0, 1, .max]
        for sent in extremes {
            for toSend in extremes {
                for received in extremes {
                    for toReceive in extremes.map(Optional.some) + [nil] {
                        let counts = ProgressCounts(sent: sent, of: toSend, received: received, of: toReceive)
                        #expect(counts.total == -1 || counts.completed < counts.total)
                        #expect(counts.succeeded.completed == counts.succeeded.total)
                    }
                }
            }
        }
    }

    @Test("A task that has succeeded is done, whatever of its length was known")
    func succeeded() {
        for (received, toReceive, units) in [(7, -1, 7), (10, 10, 10), (0, 0, 1), (0, -1, 1)] as [(Int64, Int64, Int64)]
        {
            let counts = ProgressCounts(sent: 0, of: 0, received: received, of: toReceive).succeeded
            #expect([counts.completed, counts.total] == [units, units])
        }
    }

    @Test(
        "A task that fails or is cancelled never finishes, and never counts in its parent",
        arguments: [(0, -1), (7, -1), (7, 10), (10, 10), (20, 10), (0, 0), (1, 1), (0, nil)] as [(Int64, Int64?)]
    )
    func failed(received: Int64, expected: Int64?) {
        let parent = Progress(totalUnitCount: 10)
        let child = Progress(parent: nil, userInfo: nil)
        ProgressCounts(sent: 0, of: 0, received: 0, of: nil).show(on: child)
        parent.addChild(child, withPendingUnitCount: 10)
        ProgressCounts(sent: 0, of: 0, received: received, of: expected).show(on: child)
        #expect(!child.isFinished && !parent.isFinished)
        #expect(child.fractionCompleted < 1 && parent.fractionCompleted < 1)
        #expect(parent.completedUnitCount == 0)
    }

    @Test("A parent counts each child once, whichever way its numbers go before it's done")
    func parent() {
        let parent = Progress(totalUnitCount: 1)
        let child = Progress(parent: nil, userInfo: nil)
        let course: [ProgressCounts] = [
            ProgressCounts(sent: 0, of: 1000, received: 0, of: nil),
            ProgressCounts(sent: 1000, of: 1000, received: 0, of: nil),
            ProgressCounts(sent: 0, of: 10, received: 0, of: nil),
            ProgressCounts(sent: 10, of: 10, received: 0, of: nil),
            ProgressCounts(sent: 10, of: 10, received: 0, of: 5000),
            ProgressCounts(sent: 10, of: 10, received: 4000, of: 5000),
        ]
        course[0].show(on: child)
        parent.addChild(child, withPendingUnitCount: 1)
        for counts in course {
            counts.show(on: child)
            #expect(!child.isFinished && !parent.isFinished)
            #expect(parent.completedUnitCount == 0)
            #expect((0..<1).contains(parent.fractionCompleted))
        }
        course[5].succeeded.show(on: child)
        #expect(child.isFinished && parent.isFinished)
        #expect(parent.completedUnitCount == 1)
        #expect(parent.fractionCompleted == 1)
    }
}
