import Foundation
import Testing

@testable import CurlNetworking

@Suite("The queue of a stream task, at random")
struct StreamQueueModelTests {
    @Test("Each read and write is answered exactly once, in order, and no byte is lost or doubled", arguments: 0..<200)
    func model(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var rig = StreamQueueRig()
        var answers: [String] = []
        var (reads, writes, isAtEnd) = (0, 0, false)
        var (sent, sentLetters) = (0, "")
        var seconds = 0
        for _ in 0..<120 {
            switch Int.random(in: 0..<14, using: &random) {
            case 0: answers += rig.open()
            case 1...3:
                let minimum = Int.random(in: 1...4, using: &random)
                let maximum = minimum + Int.random(in: 0...3, using: &random)
                let timeout = Bool.random(using: &random) ? 3 : nil
                let takes = Bool.random(using: &random)
                answers += rig.read(minimum, maximum, "r\(reads)", timeout: timeout, takesBytesOnFailure: takes)
                reads += 1
            case 4...5:
                let length = Int.random(in: 0...3, using: &random)
                answers += rig.write(String(repeating: "w", count: length), "w\(writes)")
                writes += 1
            case 6...8 where !isAtEnd && rig.queue.wantedCount > 0:
                let piece = (0..<Int.random(in: 1...5, using: &random)).map { _ -> Character in
                    sent += 1
                    return Character(UnicodeScalar(UInt8(97 + sent % 26)))
                }
                sentLetters += String(piece)
                answers += rig.receive(String(piece))
            case 9...10:
                if let unwritten = rig.unwritten {
                    answers += rig.wrote(Int.random(in: 1...unwritten.count, using: &random))
                }
            case 11:
                seconds += 1
                answers += rig.pass(seconds)
            case 12: answers += rig.setPaused(Bool.random(using: &random))
            case 13 where Int.random(in: 0..<10, using: &random) == 0:
                isAtEnd = true
                answers += rig.receiveEnd()
            default: break
            }
        }
        answers += rig.fail()
        while !rig.queue.surplus.isEmpty {
            answers += rig.read(1, 2, "r\(reads)")
            reads += 1
        }
        let readAnswers = answers.filter { $0.hasPrefix("r") && $0.dropFirst().first?.isNumber == true }
        #expect(readAnswers.map { Self.name(of: $0) } == (0..<reads).map { "r\($0)" })
        let writeAnswers = answers.filter { $0.hasPrefix("w") && $0.dropFirst().first?.isNumber == true }
        #expect(writeAnswers.map { Self.name(of: $0) } == (0..<writes).map { "w\($0)" })
        let letters = readAnswers.compactMap(Self.bytes).joined()
        #expect(sentLetters == letters)
    }

    private static func name(of answer: String) -> String {
        String(answer.prefix { $0 != ":" && $0 != " " })
    }

    /// What a read was answered with; nil where it has failed without bytes.
    private static func bytes(_ answer: String) -> String? {
        let words = answer.split(separator: " ", omittingEmptySubsequences: false).dropFirst()
        switch words.first {
        case "timedOut": return nil
        case "lost": return words.count > 1 ? words.last.map(String.init) : nil
        default: return words.first.map(String.init)
        }
    }
}
