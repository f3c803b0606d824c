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

    @Test("Before the response it is what has been sent, and never all of it")
    func sending() {
        #expect(Self.counts(0, 1000) == [0, 1000])
        #expect(Self.counts(500, 1000) == [500, 1000])
        #expect(Self.counts(1000, 1000) == [999, 1000])
        #expect(Self.counts(1, 1) == [1, 2])
        #expect(Self.counts(0, 0) == [0, -1])
        #expect(Self.counts(70, -1) == [70, -1])
    }

    @Test("After the response it is what has been sent and received")
    func receiving() {
        #expect(Self.counts(0, 0, 250, 1000) == [250, 1000])
        #expect(Self.counts(0, 0, 1000, 1000) == [1000, 1000])
        #expect(Self.counts(1000, 1000, 5, 10) == [1005, 1010])
        #expect(Self.counts(100_000, -1, 400, 1000) == [100_400, 101_000], "a stream's length is what was sent")
        #expect(Self.counts(0, 0, 0, 0) == [0, 1])
        #expect(Self.counts(0, 0, 20, 10) == [10, 10], "more than was announced")
    }

    @Test("A response of unknown length leaves an upload determinate, and a download not")
    func unknownLength() {
        #expect(Self.counts(1000, 1000, 0, -1) == [999, 1000])
        #expect(Self.counts(1000, 1000, 50, -1) == [1049, 1050])
        #expect(Self.counts(0, 0, 50, -1) == [50, -1])
    }

    @Test("No numbers overflow, whatever a server says")
    func extremes() {
        let extremes: [Int64] = [.min, -1, 0, 1, .max]
        for sent in extremes {
            for toSend in extremes {
                for received in extremes {
                    for toReceive in extremes.map(Optional.some) + [nil] {
                        let counts = ProgressCounts(sent: sent, of: toSend, received: received, of: toReceive)
                        #expect(counts.total == -1 || counts.completed <= counts.total)
                        #expect(counts.ended(successfully: true).completed == counts.ended(successfully: true).total)
                    }
                }
            }
        }
    }

    @Test("A task that has succeeded is done, and one that has failed stays where it was")
    func ended() {
        let counts = ProgressCounts(sent: 0, of: 0, received: 7, of: -1)
        #expect(counts.ended(successfully: true).completed == 7)
        #expect(counts.ended(successfully: true).total == 7)
        let failed = ProgressCounts(sent: 0, of: 0, received: 7, of: 10).ended(successfully: false)
        #expect([failed.completed, failed.total] == [7, 10])
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
        course[5].ended(successfully: true).show(on: child)
        #expect(child.isFinished && parent.isFinished)
        #expect(parent.completedUnitCount == 1)
        #expect(parent.fractionCompleted == 1)
    }
}
