import Foundation

/// Encodes internationalised host names in ASCII (RFC 3492, RFC 5890 §2.3.2.1).
enum Punycode {
    /// Returns `host`, which must be in lower case, in ASCII.
    static func asciiHost(_ host: String) -> String {
        if host.utf8.allSatisfy({ $0 < 0x80 }) { return host }
        return asciiDomain(host.precomposedStringWithCanonicalMapping[...])
    }

    /// Returns `domain`, which must be in lower case and composed, in ASCII: "xn--…" for each label that isn't.
    static func asciiDomain(_ domain: Substring) -> String {
        domain.split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.utf8.allSatisfy { $0 < 0x80 } ? String(label) : "xn--" + encode(label)
        }.joined(separator: ".")
    }

    private static let base = 36
    private static let thresholds = 1...26
    private static let skew = 38
    private static let damping = 700

    private static func encode(_ label: Substring) -> String {
        let scalars = label.unicodeScalars.map { Int($0.value) }
        var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = output.count
        var handled = basicCount
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var (codePoint, delta, bias) = (0x80, 0, 72)
        // A label has at most 63 characters, so nothing overflows.
        while handled < scalars.count, let next = scalars.filter({ $0 >= codePoint }).min() {
            delta += (next - codePoint) * (handled + 1)
            codePoint = next
            for scalar in scalars {
                if scalar < codePoint { delta += 1 }
                guard scalar == codePoint else { continue }
                append(delta, bias: bias, to: &output)
                bias = adapt(delta, count: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            codePoint += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number of variable length (§3.3).
    private static func append(_ number: Int, bias: Int, to output: inout [UInt8]) {
        var rest = number
        var position = base
        while true {
            let threshold = min(max(position - bias, thresholds.lowerBound), thresholds.upperBound)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            position += base
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(value < 26 ? value + 97 : value - 26 + 48)
    }

    private static func adapt(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damping : delta / 2
        delta += delta / count
        var steps = 0
        while delta > ((base - thresholds.lowerBound) * thresholds.upperBound) / 2 {
            delta /= base - thresholds.lowerBound
            steps += base
        }
        return steps + (base - thresholds.lowerBound + 1) * delta / (delta + skew)
    }
}
