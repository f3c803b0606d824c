/// Removes credentials from the lines of libcurl's trace.
struct TraceRedaction: Sendable {
    /// In lower case.
    private let fields: Set<String>

    static let replacement = "<redacted>"

    init(fields: Set<String>) {
        self.fields = Set(fields.map { $0.lowercased() })
    }

    /// RFC 9110 §11 schemes whose names aren't secret; what follows them is.
    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "ntlm"]

    // MARK: - Heads

    /// Redacts a line of a head; `isFolded` if it continues a field whose value was removed (RFC 9112 §5.2). Compares bytes, as the
    /// recipient does: to Swift, a space or colon and an accent after it are one character.
    func headerLine(_ line: String, continuesSecret isFolded: Bool) -> (line: String, isSecret: Bool) {
        let bytes = line.utf8
        if isFolded, bytes.first == UInt8(ascii: " ") || bytes.first == UInt8(ascii: "\t") {
            return (" " + Self.replacement, true)
        }
        let command = String(decoding: bytes.prefix(5), as: UTF8.self)
        if ["PASS ", "ACCT "].contains(command.uppercased()) { return (command + Self.replacement, false) }
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isSecret(line[..<colon]) {
            return ("\(line[..<colon]): " + Self.redacted(value: line[bytes.index(after: colon)...]), true)
        }
        return (withoutUserInformation(line), false)
    }

    private func isSecret(_ name: Substring) -> Bool {
        fields.contains(name.lowercased().trimmingCharacters(in: .whitespaces))
    }

    /// Keeps the name of a well-known scheme.
    private static func redacted(value: Substring) -> String {
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2, schemes.contains(words[0].lowercased()) else { return replacement }
        return "\(words[0]) \(replacement)"
    }

    // MARK: - libcurl's own words

    /// HTTP/2's fields come as "[name: value]", and user names in quotes. Compares bytes as well.
    func text(_ line: String) -> String {
        for phrase in ["Added cookie ", "Replaced cookie "] where line.utf8.starts(with: phrase.utf8) {
            return phrase + Self.replacement
        }
        var line = line
        if let user = line.utf8.firstRange(of: " with user '".utf8) {
            line = line[..<user.upperBound] + Self.replacement + "'"
        }
        if line.contains("proxy env variable"), let quote = line.utf8.firstIndex(of: UInt8(ascii: "'")),
            let at = line.utf8.lastIndex(of: UInt8(ascii: "@")), quote < at
        {
            line = line[..<line.utf8.index(after: quote)] + Self.replacement + line[at...]
        }
        var rest = line[...]
        while let bracket = rest.utf8.firstIndex(of: UInt8(ascii: "[")) {
            let field = rest[rest.utf8.index(after: bracket)...]
            if let colon = field.utf8.firstIndex(of: UInt8(ascii: ":")), isSecret(field[..<colon]) {
                let value = Self.redacted(value: field[field.utf8.index(after: colon)...])
                return withoutUserInformation(String(line[..<colon])) + ": \(value)]"
            }
            rest = field
        }
        return withoutUserInformation(line)
    }

    // MARK: - URLs

    /// Removes everything before the last "@" of each URL's authority (RFC 3986 §3.2.1).
    private func withoutUserInformation(_ line: String) -> String {
        guard line.utf8.contains(UInt8(ascii: "@")) else { return line }
        var result = ""
        var rest = line[...]
        while let slashes = rest.utf8.firstRange(of: "//".utf8) {
            result += rest[..<slashes.upperBound]
            rest = rest[slashes.upperBound...]
            let authority = rest.utf8.prefix { !"/?# \t\"<>".utf8.contains($0) }
            guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { continue }
            result += Self.replacement
            rest = rest[at...]
        }
        return result + rest
    }
}
