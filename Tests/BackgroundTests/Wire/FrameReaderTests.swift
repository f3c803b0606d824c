@testable import CurlNetworking
import Foundation
import Testing

@Suite("Frames between program and agent")
struct FrameReaderTests {
    private func append(_ bytes: Data, to reader: inout FrameReader) {
        bytes.withUnsafeBytes { reader.append($0) }
    }

    @Test("Frames come out as they went in, however they are cut", arguments: [1, 2, 3, 5, 100])
    func pieces(size: Int) throws {
        let contents = [Data("one".utf8), Data(), Data(repeating: 7, count: 300)]
        let bytes = contents.compactMap(FrameReader.frame).reduce(Data(), +)
        var reader = FrameReader()
        var read: [Data] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            append(bytes[start..<min(start + size, bytes.count)], to: &reader)
            while let content = try reader.next() { read.append(content) }
        }
        #expect(read == contents)
        #expect(!reader.isAmidFrame)
    }

    @Test("A frame that is too long is refused by its length alone")
    func oversized() {
        var reader = FrameReader()
        append(Data([2, 0, 0, 1]), to: &reader)
        #expect(throws: FrameReader.Oversized(length: (32 << 20) + 1)) { try reader.next() }
        #expect(FrameReader.frame(Data(count: (32 << 20) + 1)) == nil)
    }

    @Test("An end amid a frame is noticed")
    func amid() throws {
        var reader = FrameReader()
        append(Data([0, 0, 0]), to: &reader)
        #expect(try reader.next() == nil)
        #expect(reader.isAmidFrame)
    }
}
