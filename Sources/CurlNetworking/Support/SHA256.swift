/// SHA-256 (FIPS 180-4 §6.2), incremental; the toolchain brings no cryptography.
///
/// Written with plain loops over raw memory, since debug builds have to hash megabytes quickly too.
package struct SHA256 {
    private static let blockLength = 64

    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The start of an incomplete block.
    private var pending: [UInt8] = []
    private var length: UInt64 = 0
    private var schedule = [UInt32](repeating: 0, count: 64)

    package init() {}

    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let contiguous = ContiguousArray(bytes)
        contiguous.withUnsafeBytes { update($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        length &+= UInt64(bytes.count)
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = rest.prefix(Self.blockLength - pending.count)
            pending += missing
            rest = rest.dropFirst(missing.count)
            guard pending.count == Self.blockLength else { return }
            let block = pending
            pending = []
            block.withUnsafeBytes { compress($0) }
        }
        let whole = rest.count / Self.blockLength * Self.blockLength
        compress(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)))
        pending += rest.dropFirst(whole)
    }

    /// The digest of everything passed to `update`, in lowercase hexadecimal. Don't use the value afterwards.
    package mutating func finish() -> String {
        let bitLength = length &* 8
        let zeros = (2 * Self.blockLength - 9 - pending.count) % Self.blockLength
        update([0x80] + [UInt8](repeating: 0, count: zeros))
        withUnsafeBytes(of: bitLength.bigEndian) { update($0) }
        return state.map(\.paddedHex).joined()
    }

    /// Processes whole blocks.
    private mutating func compress(_ blocks: UnsafeRawBufferPointer) {
        guard let start = blocks.baseAddress else { return }
        state.withUnsafeMutableBufferPointer { state in
            schedule.withUnsafeMutableBufferPointer { schedule in
                Self.constants.withUnsafeBufferPointer { constants in
                    guard let state = state.baseAddress, let schedule = schedule.baseAddress,
                        let constants = constants.baseAddress
                    else { return }
                    var offset = 0
                    while offset < blocks.count {
                        Self.expand(start + offset, into: schedule)
                        Self.mix(schedule, constants, into: state)
                        offset = offset &+ Self.blockLength
                    }
                }
            }
        }
    }

    /// The message schedule (§6.2.2, step 1).
    private static func expand(_ block: UnsafeRawPointer, into w: UnsafeMutablePointer<UInt32>) {
        var t = 0
        while t < 16 {
            w[t] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: t &* 4, as: UInt32.self))
            t = t &+ 1
        }
        while t < 64 {
            let x = w[t &- 15]
            let y = w[t &- 2]
            let s0 = (x &>> 7 | x &<< 25) ^ (x &>> 18 | x &<< 14) ^ (x &>> 3)
            let s1 = (y &>> 17 | y &<< 15) ^ (y &>> 19 | y &<< 13) ^ (y &>> 10)
            w[t] = w[t &- 16] &+ s0 &+ w[t &- 7] &+ s1
            t = t &+ 1
        }
    }

    /// The rounds (§6.2.2, steps 2 to 4).
    private static func mix(
        _ w: UnsafeMutablePointer<UInt32>,
        _ k: UnsafePointer<UInt32>,
        into state: UnsafeMutablePointer<UInt32>
    ) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        var t = 0
        while t < 64 {
            let s1 = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
            let choice = (e & f) ^ (~e & g)
            let t1 = h &+ s1 &+ choice &+ k[t] &+ w[t]
            let s0 = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            h = g
            g = f
            f = e
            e = d &+ t1
            d = c
            c = b
            b = a
            a = t1 &+ s0 &+ majority
            t = t &+ 1
        }
        state[0] = state[0] &+ a
        state[1] = state[1] &+ b
        state[2] = state[2] &+ c
        state[3] = state[3] &+ d
        state[4] = state[4] &+ e
        state[5] = state[5] &+ f
        state[6] = state[6] &+ g
        state[7] = state[7] &+ h
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (§4.2.2).
    private static let constants = SHA512256.constants.prefix(64).map { UInt32(truncatingIfNeeded: $0 >> 32) }

    /// The digest of `bytes` in lowercase hexadecimal.
    package static func digest(of bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}
