import Foundation
import TestSupport

/// Text that compresses as prose does, so that it is the decoding that takes time, and not what comes before and after it.
enum CompressedText {
    /// Of the text, in bytes.
    static let length = 2_000_000

    /// As `gzip` compresses it.
    static func gzip() async throws -> Data {
        let directory = try TemporaryDirectory()
        let file = try directory.file(text())
        let process = try ChildProcess(["gzip", "-9", file.path], mergesErrors: true)
        let complaints = await process.remainingLines()
        guard await process.ending() == .exit(0) else {
            throw LoadServer.Failure(description: complaints.joined(separator: "\n"))
        }
        return try Data(contentsOf: file.appendingPathExtension("gz"))
    }

    /// Words of 2 to 9 letters; the smaller of two random numbers says which, so that some are frequent.
    private static func text() -> Data {
        var number: UInt64 = 1
        func random(_ count: Int) -> Int {
            number = number &* 6_364_136_223_846_793_005 &+ 1
            return Int(number >> 33) % count
        }
        let words = (0..<4096).map { _ in
            (0..<2 + random(8)).map { _ in UInt8(ascii: "a") + UInt8(random(26)) } + [UInt8(ascii: " ")]
        }
        var text = Data(capacity: length + 10)
        while text.count < length { text.append(contentsOf: words[min(random(4096), random(4096))]) }
        return text.prefix(length)
    }
}
