/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.6.1).
struct AuthenticationField: Sendable, Equatable {
    /// As it was written; schemes are compared without regard to case.
    var scheme: String
    var token68: String?
    /// By lowercase name; where a name came twice the first counts.
    var parameters: [String: String] = [:]

    /// The challenges in the values of all fields of one name, in their order. What makes no sense is left out.
    static func challenges(in values: [String]) -> [AuthenticationField] {
        var challenges: [AuthenticationField] = []
        for value in values {
            var parser = AuthenticationFieldParser(value)
            parser.parse(into: &challenges)
        }
        return challenges
    }
}

/// Reads a list of challenges, whose commas separate challenges as well as parameters. In one pass, whatever the input.
private struct AuthenticationFieldParser {
    private let bytes: [UInt8]
    private var position = 0

    /// More than these are no server's but an attack.
    private static let maximumChallenges = 32
    private static let maximumParameters = 32

    init(_ value: String) {
        bytes = Array(value.utf8)
    }

    mutating func parse(into challenges: inout [AuthenticationField]) {
        /// Parameters in front of any scheme, or behind one too many, belong to nobody.
        var isInChallenge = false
        while skipSeparators() {
            let name = takeToken()
            guard !name.isEmpty else {
                skipElement()
                continue
            }
            let hasSpace = skipSpaces()
            if take("=") {
                skipSpaces()
                let value = takeValue()
                skipElement()
                guard isInChallenge, let value, let last = challenges.indices.last,
                    challenges[last].parameters.count < Self.maximumParameters
                else { continue }
                let name = name.lowercased()
                if challenges[last].parameters[name] == nil { challenges[last].parameters[name] = value }
            } else {
                guard challenges.count < Self.maximumChallenges else { return }
                challenges.append(AuthenticationField(scheme: name))
                isInChallenge = true
                if hasSpace, let token = takeToken68() { challenges[challenges.count - 1].token68 = token }
            }
        }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    @discardableResult
    private mutating func skipSpaces() -> Bool {
        let start = position
        while let byte = next, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
        return position > start
    }

    /// False at the end.
    private mutating func skipSeparators() -> Bool {
        repeat { skipSpaces() } while take(",")
        return next != nil
    }

    /// To the comma behind whatever stands here; commas in quotes don't count.
    private mutating func skipElement() {
        while let byte = next, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") {
                _ = takeQuotedString()
            } else {
                position += 1
            }
        }
    }

    private mutating func takeToken() -> String {
        let start = position
        while let byte = next, Self.isTokenByte(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// A token or quoted string; nil where there is neither.
    private mutating func takeValue() -> String? {
        if next == UInt8(ascii: "\"") { return takeQuotedString() }
        let token = takeToken()
        return token.isEmpty ? nil : token
    }

    /// One that isn't closed ends with the field.
    private mutating func takeQuotedString() -> String {
        position += 1
        var content: [UInt8] = []
        while let byte = next {
            position += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), let escaped = next {
                position += 1
                content.append(escaped)
            } else {
                content.append(byte)
            }
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Only where it is all that stands before the next comma.
    private mutating func takeToken68() -> String? {
        let start = position
        var end = position
        while end < bytes.count, Self.isToken68Byte(bytes[end]) { end += 1 }
        guard end > start else { return nil }
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        position = end
        skipSpaces()
        guard next == nil || next == UInt8(ascii: ",") else {
            position = start
            return nil
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "-._~+/".utf8.contains(byte)
    }
}
