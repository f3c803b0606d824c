import Testing

@testable import CurlNetworking

@Suite("Responses that a cache hasn't written")
struct UnwrittenResponsesTests {
    @Test("Only the first change for a key schedules a write, which writes the last one")
    func replaced() throws {
        var unwritten = UnwrittenResponses()
        let starts = try [
            unwritten.add(Sample.stored("one", at: "http://a/"), cost: 3, for: "a"),
            unwritten.add(nil, cost: 0, for: "a"),
            unwritten.add(Sample.stored("three", at: "http://a/"), cost: 5, for: "a"),
        ]
        #expect(starts == [true, false, false])
        #expect(unwritten["a"]?.response?.data.count == 5)
        #expect(unwritten.count == 1 && unwritten.totalCost == 5)
        #expect(unwritten["b"] == nil)
    }

    @Test("A change that was replaced while it was written isn't the last to write")
    func replacedMeanwhile() throws {
        var unwritten = UnwrittenResponses()
        _ = unwritten.add(nil, cost: 0, for: "a")
        let first = try #require(unwritten["a"])
        _ = unwritten.add(nil, cost: 7, for: "a")
        let second = try #require(unwritten["a"])
        let finished = [unwritten.finish(first, for: "a"), unwritten.finish(second, for: "a")]
        #expect(finished == [false, true])
        #expect(unwritten.isEmpty && unwritten.totalCost == 0)
    }

    @Test("A change that was forgotten while it was written doesn't finish a later one")
    func forgottenMeanwhile() throws {
        var unwritten = UnwrittenResponses()
        _ = unwritten.add(nil, cost: 4, for: "a")
        let first = try #require(unwritten["a"])
        unwritten.removeAll()
        #expect(unwritten.isEmpty && unwritten.totalCost == 0)
        let (starts, finishes) = (unwritten.add(nil, cost: 2, for: "a"), unwritten.finish(first, for: "a"))
        #expect(starts && !finishes)
        #expect(unwritten.totalCost == 2)
    }

    @Test("Removals in place of all changes cost nothing, and are written by the writes already scheduled")
    func removals() throws {
        var unwritten = UnwrittenResponses()
        for key in ["a", "b"] {
            _ = unwritten.add(try Sample.stored("text", at: "http://\(key)/"), cost: 4, for: key)
        }
        let first = try #require(unwritten["a"])
        unwritten.replaceAllWithRemovals()
        #expect(unwritten.count == 2 && unwritten.totalCost == 0)
        #expect(unwritten["a"]?.response == nil && unwritten["b"]?.response == nil)
        let finishes = unwritten.finish(first, for: "a")
        #expect(!finishes)
    }
}
