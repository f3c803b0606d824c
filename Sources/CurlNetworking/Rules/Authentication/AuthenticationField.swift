/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.6.1).
struct AuthenticationField: Sendable, Equatable {
    /// As written. Schemes are case-insensitive.
    var scheme: String
    var token68: String?
    /// By lowercase name. Of several with the same name, the first counts.
    var parameters: [String: String] = [:]

    /// The challenges in the values of all fields of one name, in order. Anything malformed is left out.
    static func challenges(in values: [String]) -> [AuthenticationField] {
        var challenges: [AuthenticationField] = []
        for value in values {
            var parser = AuthenticationFieldParser(value)
            parser.parse(into: &challenges)
        }
        return challenges
    }
}

/// Parses a list of challenges, in which commas separate both challenges and parameters. Linear time for any input.
private struct AuthenticationFieldParser {
    private let bytes: [UInt8]
    private var position = 0

    /// More than any honest server sends.
    private static let maximumChallenges = 32
    private static let maximumParameters = 32

    init(_ value: String) {
        bytes = Array(value.utf8)
    }

    mutating func parse(into challenges: inout [AuthenticationField]) {
        /// False before the first scheme: parameters there are ignored.
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

    /// Returns false at the end.
    private mutating func skipSeparators() -> Bool {
        repeat { skipSpaces() } while take(",")
        return next != nil
    }

    /// Skips to the next comma that isn't quoted.
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
        while let byte = next, FieldSyntax.isTokenByte(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// A token or quoted string; nil if there is neither, or if Swift would take long to compare it once nothing is escaped.
    private mutating func takeValue() -> String? {
        if next == UInt8(ascii: "\"") {
            let text = takeQuotedString()
            return text.hasTooManyMarks ? nil : text
        }
        let token = takeToken()
        return token.isEmpty ? nil : token
    }

    /// An unterminated string ends with the field.
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

    /// nil unless it is followed by a comma or the end.
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

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~+/".utf8.contains(byte)
    }
}
