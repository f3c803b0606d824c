import CurlNetworking
import Foundation
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("SHA-256")
struct SHA256Tests {
    /// The examples of FIPS 180-2, and the empty message.
    @Test(
        "SHA-256 gives the digests of the standard's examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                    + "mnopqrstnopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
        ]
    )
    func examples(message: String, digest: String) {
        #expect(SHA256.digest(of: message.utf8) == digest)
    }

    @Test("SHA-256 gives the standard's digest of a million times the letter a")
    func million() {
        let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(SHA256.digest(of: Data(repeating: UInt8(ascii: "a"), count: 1_000_000)) == digest)
    }

    @Test("SHA-256 gives the same digest whatever pieces the message comes in")
    func pieces() {
        let message = (0..<300).map { UInt8($0 % 251) }
        let whole = SHA256.digest(of: message)
        for size in [1, 3, 55, 56, 63, 64, 65, 128, 299] {
            var hash = SHA256()
            for start in stride(from: 0, to: message.count, by: size) {
                hash.update(message[start..<min(start + size, message.count)])
            }
            let digest = hash.finish()
            #expect(digest == whole, "in pieces of \(size)")
        }
    }

    /// These lengths are around those at which the padding takes a block more; the digests are `sha256sum`'s.
    @Test(
        "SHA-256 gives the right digests of messages that nearly fill a block",
        arguments: [
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ]
    )
    func padding(length: Int, digest: String) {
        #expect(SHA256.digest(of: [UInt8](repeating: UInt8(ascii: "a"), count: length)) == digest)
    }

    @Test("A file longer than what is read of it at once has the digest of its content")
    func file() throws {
        let directory = try TemporaryDirectory()
        let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        #expect(try SHA256.digest(ofFile: directory.file("file", content)) == SHA256.digest(of: content))
        #expect(throws: (any Error).self) {
            try SHA256.digest(ofFile: directory.url.appendingPathComponent("nothing"))
        }
    }
}
