extension FixedWidthInteger {
    /// Parses ASCII digits (RFC 9110 §8.6). nil if there are none, or anything else, or if the number is too large.
    init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        self = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let (tens, isTooLarge) = multipliedReportingOverflow(by: 10)
            let (sum, overflows) = tens.addingReportingOverflow(Self(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !overflows else { return nil }
            self = sum
        }
    }

    /// A number from 0 to 99 in two decimal digits.
    var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// All of its bits in lower-case hexadecimal, with leading zeros: 8 digits for 32 bits.
    var paddedHex: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.count) + digits
    }
}

extension UInt8 {
    var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isASCIIAlphanumeric: Bool {
        // Upper and lower case differ in one bit.
        isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    var isLowercaseHexDigit: Bool { isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self) }

    /// The value of an ASCII hexadecimal digit; nil for anything else.
    var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Substring.UTF8View {
    /// Takes the digits of an escape (RFC 3986 §2.1) whose percent sign has been taken. Returns its byte; nil, and nothing is taken, if two
    /// hexadecimal digits don't follow.
    mutating func popEscape() -> UInt8? {
        let digits = prefix(2)
        guard digits.count == 2, let high = digits.first?.hexValue, let low = digits.last?.hexValue else { return nil }
        self = dropFirst(2)
        return high << 4 | low
    }
}
