import Foundation

/// Signs what is sent, such that its receiver can tell whom it is from and that nobody has changed it.
///
/// Source: <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
enum Signature {
    /// The value of `webhook-signature`.
    static func make(id: String, timestamp: Int, body: Data, secret: Data) -> String {
        let message = Data("\(id).\(timestamp).".utf8) + body
        return "v1," + Data(hmac(Array(message), key: Array(secret))).base64EncodedString()
    }

    /// RFC 2104, with SHA-256.
    static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? sha256(key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return sha256(block.map { $0 ^ 0x5c } + sha256(block.map { $0 ^ 0x36 } + message))
    }

    /// FIPS 180-4.
    static func sha256(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { bytes += $0 }
        var state = initial
        for start in stride(from: 0, to: bytes.count, by: 64) { mix(bytes[start..<start + 64], into: &state) }
        return state.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (near, far) = (words[index - 2], words[index - 15])
            let first = rotate(far, 7) ^ rotate(far, 18) ^ far >> 3
            let second = rotate(near, 17) ^ rotate(near, 19) ^ near >> 10
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        var s = state
        for index in 0..<64 {
            let e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)
            let choice = s[4] & s[5] ^ ~s[4] & s[6]
            let first = s[7] &+ e &+ choice &+ rounds[index] &+ words[index]
            let a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)
            let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]
            s = [first &+ a &+ majority, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
        }
        for index in 0..<8 { state[index] &+= s[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    private static let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }
    private static let initial = primes.prefix(8).map { fraction(of: Double($0).squareRoot()) }
    /// Of cube roots; a `Double` has bits enough for the 32 behind the point.
    private static let rounds = primes.map { fraction(of: cbrt(Double($0))) }

    private static func fraction(of number: Double) -> UInt32 {
        UInt32((number - number.rounded(.down)) * 4_294_967_296)
    }
}
