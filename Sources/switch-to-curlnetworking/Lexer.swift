/// A token of a Swift file, as needed for imports and manifests: a word, string literal, directive or punctuation. Comments are left out.
struct Token: Equatable {
    enum Kind: Equatable {
        /// An identifier or keyword. In backticks it is an `identifier`, without them.
        case word
        case identifier
        /// A string literal, with its quotes, or a regular expression in number signs.
        case string
        /// `#if`, `#elseif`, `#else`, `#endif`, and anything else that begins with a number sign.
        case directive
        /// One character.
        case punctuation
    }

    let kind: Kind
    let text: String
    /// In bytes of the file.
    let range: Range<Int>
    /// From 1.
    let line: Int
}

/// Splits a Swift file into tokens. Never fails: invalid code yields some tokens too.
struct Lexer {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    /// How many interpolations the position is in.
    private var depth = 0
    private var tokens: [Token] = []

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A byte order mark isn't part of the first word.
        if bytes.starts(with: "\u{FEFF}".utf8) { position = 3 }
    }

    static func tokens(of text: String) -> [Token] {
        var lexer = Lexer(Array(text.utf8))
        lexer.run()
        return lexer.tokens
    }

    private mutating func run() {
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): skipCharacter()
            case UInt8(ascii: " "), UInt8(ascii: "\t"): position += 1
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"): skipLine()
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): skipComment()
            case UInt8(ascii: "\""): takeString(numberSigns: 0)
            case UInt8(ascii: "#"): takeNumberSign()
            case UInt8(ascii: "`"): takeIdentifier()
            case let byte where Self.isWord(byte):
                take(.word) { while let next = $0.peek(), Self.isWord(next) { $0.position += 1 } }
            default: take(.punctuation) { $0.position += 1 }
            }
        }
    }

    private func peek(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    /// Lines end with LF, CR or both.
    private var isAtLineEnd: Bool { peek() == UInt8(ascii: "\n") || peek() == UInt8(ascii: "\r") }

    /// Skips a byte of any kind, and counts lines.
    private mutating func skipCharacter() {
        if isAtLineEnd, peek() == UInt8(ascii: "\n") || peek(1) != UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    /// Non-ASCII bytes count as letters.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private mutating func take(_ kind: Token.Kind, _ advance: (inout Lexer) -> Void) {
        let (start, startLine) = (position, line)
        advance(&self)
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        tokens.append(Token(kind: kind, text: text, range: start..<position, line: startLine))
    }

    // MARK: - Comments

    private mutating func skipLine() {
        while position < bytes.count, !isAtLineEnd { position += 1 }
    }

    /// Block comments nest.
    private mutating func skipComment() {
        var depth = 0
        while let byte = peek() {
            if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                depth += 1
                position += 2
            } else if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                depth -= 1
                position += 2
                if depth == 0 { return }
            } else {
                skipCharacter()
            }
        }
    }

    // MARK: - Literals

    private mutating func takeIdentifier() {
        let (start, startLine) = (position + 1, line)
        position += 1
        while let byte = peek(), byte != UInt8(ascii: "`"), !isAtLineEnd { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        tokens.append(Token(kind: .identifier, text: text, range: start..<position, line: startLine))
        if peek() == UInt8(ascii: "`") { position += 1 }
    }

    /// A directive, or a string or regular expression in number signs.
    private mutating func takeNumberSign() {
        var count = 0
        while peek(count) == UInt8(ascii: "#") { count += 1 }
        if peek(count) == UInt8(ascii: "\"") { return takeString(numberSigns: count) }
        if peek(count) == UInt8(ascii: "/") { return take(.string) { $0.skipExpression(numberSigns: count) } }
        take(.directive) { lexer in
            lexer.position += count
            while let byte = lexer.peek(), Self.isWord(byte) { lexer.position += 1 }
        }
    }

    /// An expression that doesn't begin at the end of a line ends with that line at the latest.
    private mutating func skipExpression(numberSigns: Int) {
        position += numberSigns + 1
        let isMultiline = isAtLineEnd
        while let byte = peek(), isMultiline || !isAtLineEnd {
            if byte == UInt8(ascii: "/"), (0..<numberSigns).allSatisfy({ peek(1 + $0) == UInt8(ascii: "#") }) {
                position += 1 + numberSigns
                return
            }
            if byte == UInt8(ascii: "\\") { position += 1 }
            if !isAtLineEnd || isMultiline { skipCharacter() }
        }
    }

    private mutating func takeString(numberSigns: Int) {
        take(.string) { $0.skipString(numberSigns: numberSigns) }
    }

    private mutating func skipString(numberSigns: Int) {
        position += numberSigns
        let quote = UInt8(ascii: "\"")
        let isMultiline = peek() == quote && peek(1) == quote && peek(2) == quote
        let quotes = isMultiline ? 3 : 1
        position += quotes
        while let byte = peek() {
            if isAtLineEnd {
                // An unterminated string ends with its line.
                guard isMultiline else { return }
                skipCharacter()
            } else if byte == quote, (0..<quotes).allSatisfy({ peek($0) == quote }),
                (0..<numberSigns).allSatisfy({ peek(quotes + $0) == UInt8(ascii: "#") })
            {
                position += quotes + numberSigns
                return
            } else if byte == UInt8(ascii: "\\"), (0..<numberSigns).allSatisfy({ peek(1 + $0) == UInt8(ascii: "#") }) {
                position += 1 + numberSigns
                if peek() == UInt8(ascii: "(") {
                    skipInterpolation()
                } else if !isAtLineEnd {
                    position += 1
                }
            } else {
                position += 1
            }
        }
    }

    /// The deepest nesting of strings in interpolations in strings: more than the compiler accepts.
    private static let maximumDepth = 500

    private mutating func skipInterpolation() {
        depth += 1
        defer { depth -= 1 }
        var parentheses = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "("): parentheses += 1
            case UInt8(ascii: ")"):
                parentheses -= 1
                if parentheses == 0 {
                    position += 1
                    return
                }
            case UInt8(ascii: "\"") where depth < Self.maximumDepth:
                skipString(numberSigns: 0)
                continue
            default: break
            }
            skipCharacter()
        }
    }
}
