import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which event loop an origin is bound to")
struct OriginBindingTests {
    static func origin(_ number: Int) throws -> Origin {
        try #require(Origin(Sample.url("http://host\(number).example/")))
    }

    @Test("Origins take the loops in turn, in the order in which they become known")
    func turns() throws {
        let binding = OriginBinding(loops: 3)
        #expect(try (0..<8).map { binding.loop(for: try Self.origin($0)).loop } == [0, 1, 2, 0, 1, 2, 0, 1])
    }

    @Test("An origin stays on its loop; scheme, host and port tell it from others")
    func stays() throws {
        let binding = OriginBinding(loops: 4)
        let urls = ["http://a/", "https://a/", "http://b/", "http://a:8080/"]
        let origins = try urls.map { try #require(Origin(Sample.url($0))) }
        let loops = origins.map { binding.loop(for: $0).loop }
        #expect(loops == [0, 1, 2, 3])
        #expect(origins.reversed().map { binding.loop(for: $0).loop } == [3, 2, 1, 0])
        #expect(binding.loop(for: try #require(Origin(Sample.url("http://A:80/other")))).loop == 0)
    }

    @Test("A single loop has all origins")
    func single() throws {
        let binding = OriginBinding(loops: 1)
        #expect(try (0..<5).allSatisfy { binding.loop(for: try Self.origin($0)).loop == 0 })
    }

    @Test("New origins go to the loop with the fewest, and forgotten ones make room there")
    func release() throws {
        let binding = OriginBinding(loops: 2)
        let origins = try (0..<8).map(Self.origin)
        for origin in origins { _ = binding.loop(for: origin) }
        binding.release(from: 1, allBut: [origins[7]])
        // Those of the other loop, and the one that is remembered, have stayed.
        #expect([0, 2, 4, 6].map { binding.loop(for: origins[$0]).loop } == [0, 0, 0, 0])
        #expect(binding.loop(for: origins[7]).loop == 1)
        #expect(try (8..<13).map { binding.loop(for: try Self.origin($0)).loop } == [1, 1, 1, 0, 1])
        // A forgotten one is as good as new.
        #expect(binding.loop(for: origins[1]).loop == 0)
    }

    @Test("Many origins crowd the table, once until the loops have released theirs or there are twice as many")
    func crowding() throws {
        let binding = OriginBinding(loops: 2)
        func crowdings(_ numbers: Range<Int>) throws -> [Int] {
            try numbers.filter { binding.loop(for: try Self.origin($0)).isCrowding }
        }
        #expect(try crowdings(0..<10_000) == [4000, 8000])
        for loop in 0..<2 { binding.release(from: loop, allBut: [try Self.origin(7)]) }
        #expect(binding.count == 1)
        #expect(try crowdings(20_000..<24_000) == [23_999])
        // A known one doesn't crowd it.
        #expect(try crowdings(20_000..<24_000) == [])
    }

    @Test("Threads that meet at an origin find the same loop")
    func threads() throws {
        let binding = OriginBinding(loops: 8)
        let origins = try (0..<100).map(Self.origin)
        nonisolated(unsafe) var found = Array(repeating: [Int](), count: 8)
        let lock = NSLock()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            let loops = origins.map { binding.loop(for: $0).loop }
            lock.withLock { found[thread] = loops }
        }
        #expect(found.allSatisfy { $0 == found[0] })
        let counts = Dictionary(grouping: found[0], by: { $0 }).mapValues(\.count)
        #expect(counts.values.sorted() == [12, 12, 12, 12, 13, 13, 13, 13])
    }
}
