import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Bodies in memory")
struct CollectedBytesTests {
    @Test("Whatever the pieces and the expectation, the body has the server's bytes")
    func pieces() {
        var random = SeededGenerator(seed: 20_261_123)
        let memory = memory(limit: 4 << 20)
        for _ in 0..<200 {
            var body = CollectedBytes(memory)
            var bytes = Data()
            let lengths = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                Int.random(in: 0...1 << Int.random(in: 0...21, using: &random), using: &random)
            }
            let expected = [0, 1, lengths.reduce(0, +), 3 << 20, 9 << 20].randomElement(using: &random) ?? 0
            for (index, length) in lengths.enumerated() {
                let piece = Data(repeating: UInt8(truncatingIfNeeded: bytes.count &+ index), count: length)
                bytes += piece
                piece.withUnsafeBytes { body.append($0, expected: expected) }
                // The cache may ask at any time.
                if Bool.random(using: &random) { #expect(body.data == bytes) }
            }
            #expect(body.data == bytes)
        }
        #expect(memory.kept <= 4 << 20)
    }

    @Test("A large body's memory serves the next one when the program has let go of it, and not before")
    func recycled() throws {
        let memory = memory(limit: 4 << 20)
        var first: Data? = body(of: 1 << 20, filledWith: 1, memory)
        let start = try #require(first?.start)
        let second = body(of: 1 << 20, filledWith: 2, memory)
        #expect(second.start != start && memory.kept == 0)
        first = nil
        #expect(memory.kept == 1 << 20)
        let third = body(of: 1 << 20, filledWith: 3, memory)
        #expect(third.start == start && memory.kept == 0)
        #expect(second == Data(repeating: 2, count: 1 << 20) && third == Data(repeating: 3, count: 1 << 20))
    }

    @Test("A program may change and lengthen a body, and neither shows in another")
    func changed() {
        let memory = memory(limit: 4 << 20)
        var body: Data? = body(of: 100_000, filledWith: 1, memory)
        let copy = body
        body?[0] = 9
        #expect(copy?.first == 1)
        body?.append(Data(repeating: 8, count: 1 << 20))
        #expect(body?.count == 100_000 + (1 << 20) && body?[0] == 9 && body?[99_999] == 1 && body?.last == 8)
        #expect(copy == Data(repeating: 1, count: 100_000))
        body = nil
        #expect(memory.kept == 0, "the copy still has it")
    }

    @Test(
        "A body of known length is in memory that is larger by a quarter at most",
        arguments: [64 << 10, (64 << 10) + 1, 100_000, (1 << 20) + 1, 5_000_000, 8 << 20]
    )
    func knownLength(_ length: Int) {
        let memory = memory(limit: 64 << 20)
        _ = body(of: length, filledWith: 7, memory)
        #expect((length...length * 5 / 4).contains(memory.kept))
    }

    @Test("A body of unknown length is in memory that is at least half full")
    func unknownLength() {
        let sweeps = Sweeps()
        let memory = RecycledMemory(limit: 64 << 20) { sweeps.add($0) }
        for length in [64 << 10, 80 << 10, 1 << 20, 5 << 20] {
            var body: CollectedBytes? = CollectedBytes(memory)
            let piece = Data(repeating: 7, count: 16 << 10)
            for _ in 0..<length / piece.count { piece.withUnsafeBytes { body?.append($0, expected: 0) } }
            // What it has outgrown is gone.
            while sweeps.count > 0 { sweeps.run() }
            body = nil
            #expect((length...2 * length).contains(memory.kept))
            while sweeps.count > 0 { sweeps.run() }
        }
    }

    @Test("Small bodies, and those of more than 8 MiB, are the allocator's", arguments: [1, 65_535, 9 << 20])
    func others(_ length: Int) {
        let memory = memory(limit: 64 << 20)
        var body: Data? = body(of: length, filledWith: 1, memory)
        #expect(body?.count == length)
        body = nil
        #expect(memory.kept == 0)
    }

    @Test("No more is kept than the limit")
    func limit() {
        let memory = memory(limit: 3 << 20)
        _ = (0..<8).map { body(of: 1 << 20, filledWith: UInt8($0), memory) }
        #expect(memory.kept == 3 << 20)
    }

    @Test("Memory that isn't needed between two sweeps is given back; then nothing is scheduled any more")
    func sweeps() {
        let sweeps = Sweeps()
        let memory = RecycledMemory(limit: 16 << 20) { sweeps.add($0) }
        /// Has so many bodies at once, for a moment.
        func use(_ bodies: UInt8) { _ = (0..<bodies).map { body(of: 1 << 20, filledWith: $0, memory) } }
        #expect(sweeps.count == 0)
        use(4)
        #expect(sweeps.count == 1 && memory.kept == 4 << 20)
        sweeps.run()
        #expect(sweeps.count == 1 && memory.kept == 4 << 20)
        use(1)
        sweeps.run()
        #expect(sweeps.count == 1 && memory.kept == 1 << 20)
        sweeps.run()
        #expect(sweeps.count == 0 && memory.kept == 0)
        use(1)
        #expect(sweeps.count == 1)
    }

    @Test("Threads that take and release bodies at once each have their own bytes")
    func threads() {
        let memory = memory(limit: 2 << 20)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for turn in 0..<50 {
                let mark = UInt8(truncatingIfNeeded: thread * 50 + turn)
                let data = body(of: (80 << 10) << (turn % 3), filledWith: mark, memory)
                #expect(data == Data(repeating: mark, count: data.count))
            }
        }
        #expect(memory.kept <= 2 << 20)
    }

    // MARK: -

    /// Nothing is swept.
    private func memory(limit: Int) -> RecycledMemory {
        RecycledMemory(limit: limit) { _ in }
    }

    /// A body in two pieces, whose length is known.
    private func body(of length: Int, filledWith byte: UInt8, _ memory: RecycledMemory) -> Data {
        var body = CollectedBytes(memory)
        for piece in [length / 2, length - length / 2] {
            Data(repeating: byte, count: piece).withUnsafeBytes { body.append($0, expected: length) }
        }
        return body.data
    }
}

/// Sweeps that were scheduled.
private final class Sweeps: Sendable {
    private let waiting = Watched<[@Sendable () -> Void]>([])

    var count: Int { waiting.value.count }

    func add(_ sweep: @escaping @Sendable () -> Void) {
        waiting.update { $0.append(sweep) }
    }

    func run() {
        let sweeps = waiting.value
        waiting.update { $0 = [] }
        for sweep in sweeps { sweep() }
    }
}

extension Data {
    fileprivate var start: UnsafeRawPointer? { withUnsafeBytes(\.baseAddress) }
}
