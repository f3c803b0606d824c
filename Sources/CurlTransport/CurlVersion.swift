/// A version of libcurl; `CurlLibrary.version` is the one that is linked.
package struct CurlVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// As libcurl encodes it: 0x075801 is 7.88.1.
    private let number: UInt32

    init(number: UInt32) {
        self.number = number
    }

    package init(_ major: UInt32, _ minor: UInt32, _ patch: UInt32 = 0) {
        number = major << 16 | minor << 8 | patch
    }

    /// The oldest version whose headers are supported, and so the oldest that can be linked.
    package static let oldest = CurlVersion(7, 76)

    package static func < (a: CurlVersion, b: CurlVersion) -> Bool {
        a.number < b.number
    }

    package var description: String { "\(number >> 16).\(number >> 8 & 0xFF).\(number & 0xFF)" }
}
