import Foundation
import Testing

@testable import CurlNetworking

@Suite("Data that are filled in place")
struct FilledDataTests {
    private struct Failure: Error {}

    /// The bytes, and whether they are where they were written.
    private func filled(_ count: Int, of capacity: Int) -> (data: Data, isInPlace: Bool) {
        var start: UnsafeMutableRawPointer?
        let data = Data.filled(upTo: capacity) { buffer in
            start = buffer.baseAddress
            buffer.prefix(count).initializeMemory(as: UInt8.self, repeating: 7)
            return count
        }
        return (data, data.withUnsafeBytes { $0.baseAddress == start.map { UnsafeRawPointer($0) } })
    }

    @Test(
        "Many bytes stay where they were written, and few keep no memory for many",
        arguments: [0, 1, 40, 600, 601, 1200]
    )
    func filling(count: Int) {
        let (data, isInPlace) = filled(count, of: 1200)
        #expect(data == Data(repeating: 7, count: count) && data.startIndex == 0)
        #expect(isInPlace == (count > 600))
    }

    @Test("An error while data are filled is passed on")
    func failure() {
        #expect(throws: Failure.self) { try Data.filled(upTo: 100) { _ throws(Failure) in throw Failure() } }
    }
}
