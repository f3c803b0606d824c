import Foundation
import Testing

@testable import CurlNetworking

@Suite("XXH64")
struct XXHash64Tests {
    private static func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { XXHash64.hash($0, seed: seed) }
    }

    @Test(
        "The specification's algorithm, for lengths that take each of its roads",
        arguments: [
            ("", 0xef46_db37_51d8_e999), ("a", 0xd24e_c4f1_a98c_6e5b), ("abc", 0x44bc_2cf5_ad77_0999),
            ("Nobody inspects the spammish repetition", 0xfbce_a83c_8a37_8bf1),
        ] as [(String, UInt64)]
    )
    func vectors(text: String, expected: UInt64) {
        #expect(Self.hash(Array(text.utf8)) == expected)
    }

    @Test("Every byte counts, wherever it is, and so does the seed")
    func sensitivity() {
        for length in [1, 3, 4, 7, 8, 31, 32, 33, 63, 64, 100] {
            var bytes = (0..<length).map { UInt8($0) }
            let hash = Self.hash(bytes)
            #expect(Self.hash(bytes, seed: 1) != hash)
            for index in bytes.indices {
                bytes[index] ^= 1
                #expect(Self.hash(bytes) != hash, "\(index) of \(length)")
                bytes[index] ^= 1
            }
        }
    }
}
