import Foundation
import Testing

@testable import CurlNetworking

@Suite("The bounded buffer of body bytes")
struct BodyBufferTests {
    static func append(_ count: Int, to buffer: inout BodyBuffer, expected: Int64? = nil, value: UInt8 = 0) -> Bool {
        let bytes = [UInt8](repeating: value, count: count)
        return bytes.withUnsafeBytes { buffer.append($0, expected: expected) }
    }

    @Test("The buffer tells once when the high mark is passed, and once when the low mark is reached again")
    func marks() {
        var buffer = BodyBuffer()
        #expect(!Self.append(BodyBuffer.highMark, to: &buffer), "the mark itself may be filled")
        #expect(Self.append(1, to: &buffer))
        #expect(!Self.append(1, to: &buffer), "it is no news")
        let waiting = BodyBuffer.highMark + 2
        #expect(buffer.waitingBytes == waiting)
        #expect(buffer.consumed(waiting - BodyBuffer.lowMark - 1) == false)
        #expect(buffer.consumed(1) == true)
        #expect(buffer.consumed(1) == false, "it is no news")
        #expect(buffer.waitingBytes == BodyBuffer.lowMark - 1)
        #expect(!Self.append(BodyBuffer.highMark - BodyBuffer.lowMark, to: &buffer))
        #expect(Self.append(2, to: &buffer), "it can be passed again")
    }

    @Test("Bytes in the consumer's hands count until it is done with them")
    func handedOut() {
        var buffer = BodyBuffer()
        _ = Self.append(1000, to: &buffer)
        #expect(buffer.popFirst()?.count == 1000)
        #expect(buffer.isEmpty)
        #expect(buffer.waitingBytes == 1000)
        _ = buffer.consumed(1000)
        #expect(buffer.waitingBytes == 0)
    }

    @Test("No bytes make no piece")
    func empty() {
        var buffer = BodyBuffer()
        #expect(!Self.append(0, to: &buffer))
        #expect(buffer.isEmpty)
        #expect(buffer.popFirst() == nil)
    }

    @Test("Small pieces that wait grow together when the length is known")
    func gathering() {
        var buffer = BodyBuffer()
        for index in 0..<100 { _ = Self.append(100, to: &buffer, expected: Int64(10_000 - 100 * index)) }
        #expect(buffer.popFirst()?.count == 10_000)
        #expect(buffer.popFirst() == nil)
    }

    @Test("Small pieces that wait grow together when the length is not known")
    func gatheringUnknownLength() {
        var buffer = BodyBuffer()
        for _ in 0..<10_000 { _ = Self.append(1, to: &buffer) }
        var pieces = 0
        while buffer.popFirst() != nil { pieces += 1 }
        #expect(pieces <= 100, "a server that sends byte by byte must not make a piece of every byte")
    }

    @Test("A length announced wrongly, below zero or beyond memory, does no harm")
    func wrongExpectations() {
        for expected in [-1, 0, .min, .max] as [Int64] {
            var buffer = BodyBuffer()
            for _ in 0..<10 { _ = Self.append(10, to: &buffer, expected: expected) }
            var count = 0
            while let piece = buffer.popFirst() { count += piece.count }
            #expect(count == 100)
        }
    }

    @Test("After everything was forgotten nothing waits, and the marks work anew")
    func removeAll() {
        var buffer = BodyBuffer()
        _ = Self.append(BodyBuffer.highMark + 1, to: &buffer)
        buffer.removeAll()
        #expect(buffer.isEmpty)
        #expect(buffer.waitingBytes == 0)
        #expect(buffer.consumed(BodyBuffer.highMark + 1) == false, "what was in the consumer's hands is of no concern")
        #expect(Self.append(BodyBuffer.highMark + 1, to: &buffer))
    }

    @Test("No byte is lost, repeated or reordered", arguments: 1...20 as ClosedRange<UInt64>)
    func conservation(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var buffer = BodyBuffer()
        var (put, taken) = ([UInt8](), [UInt8]())
        var total = 0
        let knowsLength = generator.chance(50)
        for _ in 0..<500 {
            if generator.chance(60) {
                let count = Int.random(in: 0..<(generator.chance(20) ? 16_384 : 50), using: &generator)
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: total + $0) }
                total += count
                let expected = knowsLength ? Int64.random(in: 0..<100_000, using: &generator) : nil
                _ = bytes.withUnsafeBytes { buffer.append($0, expected: expected) }
                put += bytes
            } else if let piece = buffer.popFirst() {
                #expect(!piece.isEmpty)
                taken += piece
                _ = buffer.consumed(piece.count)
            }
            #expect(buffer.waitingBytes == put.count - taken.count)
        }
        while let piece = buffer.popFirst() { taken += piece }
        #expect(taken == put)
    }

    @Test("A producer that heeds the marks never fills the buffer beyond the high mark and one piece")
    func bound() {
        var generator = SeededGenerator(seed: 7)
        var buffer = BodyBuffer()
        var isPaused = false
        var largest = 0
        for _ in 0..<5000 {
            if !isPaused, generator.chance(70) {
                isPaused = Self.append(16_384, to: &buffer, expected: nil)
            } else if let piece = buffer.popFirst(), buffer.consumed(piece.count) {
                isPaused = false
            }
            largest = max(largest, buffer.waitingBytes)
            if buffer.isEmpty { #expect(!isPaused, "an empty buffer must not hold up the transfer") }
        }
        #expect(largest > BodyBuffer.highMark)
        #expect(largest <= BodyBuffer.highMark + 16_384)
    }
}
