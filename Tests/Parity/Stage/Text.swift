import Foundation

/// Values as text that is the same on every run.
package enum Text {
    /// A short text as it is; of anything else the length and a hash.
    package static func body(_ data: Data) -> String {
        if data.isEmpty { return "nothing" }
        if data.count <= 48, let text = String(data: data, encoding: .utf8),
            text.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 })
        {
            return "“\(text)”"
        }
        return "\(data.count) bytes, hash \(String(hash(data), radix: 16))"
    }

    /// FNV-1a.
    private static func hash(_ data: Data) -> UInt64 {
        data.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
