/// The SHA-256 of the certificates that a server presented, which may total 100 KB.
struct ChainDigest: Sendable, Hashable {
    private var hash: SIMD4<UInt64> = .zero

    /// nil without OpenSSL, or if memory runs out.
    init?(_ chain: [[UInt8]]) {
        guard let functions = DigestFunctions.loaded else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(chain.reduce(0) { $0 + 8 + $1.count })
        for certificate in chain {
            // With the lengths, no two chains have the same bytes.
            withUnsafeBytes(of: UInt64(certificate.count).bigEndian) { bytes += $0 }
            bytes += certificate
        }
        guard withUnsafeMutableBytes(of: &hash, { functions.hash(bytes, into: $0) }) else { return nil }
    }
}

/// OpenSSL's SHA-256.
/// https://docs.openssl.org/3.0/man3/EVP_DigestInit/
struct DigestFunctions: Sendable {
    /// In bytes.
    static let length = 32

    private let sha256: @convention(c) () -> OpenSSL.Pointer?
    private let digest: Digest

    private typealias Digest =
        @convention(c) (
            UnsafeRawPointer?, Int, OpenSSL.Pointer, UnsafeMutablePointer<UInt32>?, OpenSSL.Pointer?, OpenSSL.Pointer?
        ) -> Int32

    static let loaded = try? DigestFunctions()

    private init() throws(OpenSSL.Missing) {
        sha256 = try OpenSSL.function("EVP_sha256")
        digest = try OpenSSL.function("EVP_Digest")
    }

    /// Writes the hash of `bytes` to the beginning of `buffer`. False if that fails.
    func hash(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard buffer.count >= Self.length, let start = buffer.baseAddress, let sha256 = sha256() else { return false }
        return bytes.withUnsafeBytes { digest($0.baseAddress, $0.count, start, nil, sha256, nil) } == 1
    }
}
