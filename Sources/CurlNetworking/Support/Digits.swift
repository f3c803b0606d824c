extension FixedWidthInteger {
    /// The number that ASCII digits stand for (RFC 9110 §8.6). nil if there is none, or anything else, or the number is too large.
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
}

extension UInt8 {
    var isASCIIHexDigit: Bool { isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }
    var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
