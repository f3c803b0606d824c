/// XXH64, a fast 64-bit checksum (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>). It detects damage, not forgery.
enum XXHash64 {
    private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0x9e37_79b1_85eb_ca87, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5
    )

    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var offset = 0
        var hash = seed &+ primes.4
        if bytes.count >= 32 {
            var (a, b) = (seed &+ primes.0 &+ primes.1, seed &+ primes.1)
            var (c, d) = (seed, seed &- primes.0)
            while offset <= bytes.count - 32 {
                a = round(a, word(bytes, offset))
                b = round(b, word(bytes, offset + 8))
                c = round(c, word(bytes, offset + 16))
                d = round(d, word(bytes, offset + 24))
                offset += 32
            }
            hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
            hash = merge(merge(merge(merge(hash, a), b), c), d)
        }
        hash = hash &+ UInt64(bytes.count)
        while offset <= bytes.count - 8 {
            hash = rotate(hash ^ round(0, word(bytes, offset)), 27) &* primes.0 &+ primes.3
            offset += 8
        }
        if offset <= bytes.count - 4 {
            let half = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            hash = rotate(hash ^ (half &* primes.0), 23) &* primes.1 &+ primes.2
            offset += 4
        }
        while offset < bytes.count {
            hash = rotate(hash ^ (UInt64(bytes[offset]) &* primes.4), 11) &* primes.0
            offset += 1
        }
        return avalanche(hash)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private static func round(_ pool: UInt64, _ word: UInt64) -> UInt64 {
        rotate(pool &+ word &* primes.1, 31) &* primes.0
    }

    private static func merge(_ hash: UInt64, _ pool: UInt64) -> UInt64 {
        (hash ^ round(0, pool)) &* primes.0 &+ primes.3
    }

    private static func avalanche(_ hash: UInt64) -> UInt64 {
        var hash = (hash ^ hash >> 33) &* primes.1
        hash = (hash ^ hash >> 29) &* primes.2
        return hash ^ hash >> 32
    }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}
