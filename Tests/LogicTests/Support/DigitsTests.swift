import Testing

@testable import CurlNetworking

@Suite("Digits")
struct DigitsTests {
    @Test("Hexadecimal digits are padded to the width of the type")
    func hex() {
        #expect((UInt8.min ... .max).map(\.paddedHex).allSatisfy { $0.utf8.count == 2 && UInt8($0, radix: 16) != nil })
        #expect(UInt8(0x0a).paddedHex == "0a")
        #expect([0, 0xab, UInt32.max].map(\.paddedHex) == ["00000000", "000000ab", "ffffffff"])
        #expect(UInt128.zero.paddedHex == String(repeating: "0", count: 32))
        #expect(UInt128(0x1F).paddedHex == String(repeating: "0", count: 30) + "1f")
        #expect(UInt128.max.paddedHex == String(repeating: "f", count: 32))
    }

    @Test("Small numbers have two decimal digits")
    func two() {
        #expect([0, 7, 10, 59].map(\.twoDigits) == ["00", "07", "10", "59"])
    }

    @Test("Letters and digits are told apart from all other bytes")
    func classes() {
        let digits = "0123456789"
        let letters = "abcdefghijklmnopqrstuvwxyz"
        for byte in UInt8.min ... .max {
            #expect(byte.isLowercaseHexDigit == "\(digits)abcdef".utf8.contains(byte), "\(byte)")
            let isAlphanumeric = "\(digits)\(letters)\(letters.uppercased())".utf8.contains(byte)
            #expect(byte.isASCIIAlphanumeric == isAlphanumeric, "\(byte)")
        }
    }
}
