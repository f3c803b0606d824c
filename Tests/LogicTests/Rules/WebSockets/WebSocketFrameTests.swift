import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Frames of web sockets")
struct WebSocketFrameTests {
    private func elements(_ bytes: [UInt8], allowsCompression: Bool = false) throws -> [String] {
        var parser = WebSocketFrameParser(allowsCompression: allowsCompression)
        var seen: [String] = []
        try bytes.withUnsafeBytes { bytes in
            var input = bytes
            while let element = try parser.next(&input) {
                switch element {
                case .header(let header):
                    seen.append("\(header.opcode) \(header.isFinal) \(header.isCompressed) \(header.length)")
                case .payload(let bytes): seen.append(String(decoding: bytes, as: UTF8.self))
                case .end: seen.append("end")
                }
            }
        }
        return seen
    }

    @Test("The RFC's examples are read as it says")
    func examples() throws {
        #expect(try elements([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]) == ["text true false 5", "Hello", "end"])
        #expect(try elements([0x01, 0x03, 0x48, 0x65, 0x6c]) == ["text false false 3", "Hel", "end"])
        #expect(try elements([0x80, 0x02, 0x6c, 0x6f]) == ["continuation true false 2", "lo", "end"])
        #expect(try elements([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]) == ["ping true false 5", "Hello", "end"])
        #expect(try elements([0x82, 0x7E, 0x01, 0x00]) == ["binary true false 256"])
        #expect(try elements([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]) == ["binary true false 65536"])
        #expect(try elements([0x88, 0x00]) == ["close true false 0", "end"])
        #expect(try elements([0xC1, 0x01, 0x61], allowsCompression: true) == ["text true true 1", "a", "end"])
    }

    @Test(
        "A frame that the RFC forbids is refused with the first byte that shows it",
        arguments: [
            [0x83], [0x84], [0x87], [0x8B], [0x8F], [0xC1], [0xA1], [0x91], [0x09], [0x08], [0x0A], [0x81, 0x80],
            [0x89, 0x7E], [0x88, 0x7F], [0x82, 0x7E, 0x00, 0x7D], [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
            [0x82, 0x7F, 0x80, 0, 0, 0, 0, 1, 0, 0],
        ] as [[UInt8]]
    )
    func forbidden(bytes: [UInt8]) throws {
        #expect(throws: WebSocketViolation.self) { try elements(bytes) }
        #expect(throws: Never.self) { try elements(Array(bytes.dropLast())) }
    }

    @Test("Compression is marked on a message's first frame alone", arguments: [0xC0, 0xC8, 0xC9, 0xCA] as [UInt8])
    func marked(first: UInt8) {
        #expect(throws: WebSocketViolation.self) { try elements([first], allowsCompression: true) }
    }

    @Test("A client's frames are masked as the RFC's example is")
    func masked() {
        let header = WebSocketFrameHeader(opcode: .text, length: 5)
        var frame = [UInt8](repeating: 0, count: WebSocketFrameWriter.size(of: header))
        let key = [0x37, 0xfa, 0x21, 0x3d] as [UInt8]
        let mask = key.withUnsafeBytes { $0.load(as: UInt32.self) }
        Array("Hello".utf8).withUnsafeBytes { payload in
            frame.withUnsafeMutableBytes { WebSocketFrameWriter.write(header, payload, mask: mask, to: $0) }
        }
        #expect(frame == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
    }

    @Test(
        "Frames of every length are written so that they can be read",
        arguments: [0, 1, 7, 8, 9, 125, 126, 65535, 65536]
    )
    func lengths(length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        let header = WebSocketFrameHeader(opcode: .binary, isFinal: false, length: length)
        var frame = [UInt8](repeating: 0, count: WebSocketFrameWriter.size(of: header))
        payload.withUnsafeBytes { payload in
            frame.withUnsafeMutableBytes { WebSocketFrameWriter.write(header, payload, mask: 0x1234_5678, to: $0) }
        }
        let lengthSize = length < 126 ? 0 : length < 65536 ? 2 : 8
        #expect(frame.count == 2 + lengthSize + 4 + length)
        #expect(frame[0] == 0x02)
        let key = frame[(2 + lengthSize)..<(6 + lengthSize)]
        let unmasked = frame.dropFirst(6 + lengthSize).enumerated().map { $1 ^ key[key.startIndex + $0 % 4] }
        #expect(unmasked == payload)
    }

    @Test("Masking keys don't repeat")
    func keys() {
        var keys = WebSocketMaskingKeys()
        #expect(Set((0..<100).map { _ in keys.next() }).count > 95)
    }
}

@Suite("Incremental UTF-8")
struct UTF8ValidatorTests {
    private func isValid(_ pieces: [[UInt8]]) -> Bool {
        var validator = UTF8Validator()
        for piece in pieces where !piece.withUnsafeBytes({ validator.append($0) }) { return false }
        return validator.isComplete
    }

    @Test("Validation agrees with the standard library on every sequence of bytes of each kind, however it is cut")
    func exhaustive() {
        let bytes: [UInt8] = [
            0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5,
        ]
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    for tail in [[], [0x80], [0x80, 0x80]] as [[UInt8]] {
                        let text = [first, second, third] + tail
                        let isText = String(validating: text, as: UTF8.self) != nil
                        if isValid([text]) != isText || isValid(text.map { [$0] }) != isText {
                            Issue.record("\(text)")
                        }
                    }
                }
            }
        }
    }

    @Test("An error is told with the byte that shows it")
    func early() {
        var validator = UTF8Validator()
        #expect(([0x61, 0xED] as [UInt8]).withUnsafeBytes { validator.append($0) })
        #expect(!([0xA0] as [UInt8]).withUnsafeBytes { validator.append($0) })
    }

    @Test("Long text is valid wherever a character stands")
    func long() {
        for offset in 0..<20 {
            let text = Array((String(repeating: "a", count: offset) + "€" + String(repeating: "b", count: 20)).utf8)
            #expect(isValid([text]))
            #expect(!isValid([Array(text.prefix(offset + 2))]))
        }
    }
}
