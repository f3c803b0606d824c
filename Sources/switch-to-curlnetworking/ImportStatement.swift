/// An import of a module, in any form: with attributes or an access level, or of a single declaration.
struct ImportStatement: Equatable {
    /// The indices of its tokens, including attributes.
    let tokens: Range<Int>
    /// The index of the module's name.
    let module: Int
    let attributes: [String]

    private static let kinds: Set = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]
    private static let levels: Set = ["public", "package", "internal", "fileprivate", "private"]

    static func all(in tokens: [Token]) -> [ImportStatement] {
        tokens.indices.compactMap { ImportStatement(at: $0, in: tokens) }
    }

    /// nil unless the token at `index` is the keyword of an import that is a whole statement. Beside other code it may be anything: to the
    /// lexer, a regular expression without number signs is code.
    private init?(at index: Int, in tokens: [Token]) {
        guard tokens[index].kind == .word, tokens[index].text == "import" else { return nil }
        if index > 0, tokens[index - 1].text == ".", tokens[index - 1].kind == .punctuation { return nil }
        var next = index + 1
        if next < tokens.count, tokens[next].kind == .word, Self.kinds.contains(tokens[next].text),
            next + 1 < tokens.count, [.word, .identifier].contains(tokens[next + 1].kind)
        {
            next += 1
        }
        guard next < tokens.count, [.word, .identifier].contains(tokens[next].kind) else { return nil }
        module = next
        var end = next + 1
        while end + 1 < tokens.count, tokens[end].text == ".", [.word, .identifier].contains(tokens[end + 1].kind) {
            end += 2
        }
        let (start, attributes) = Self.attributes(before: index, in: tokens)
        guard Self.isEnd(start, in: tokens), Self.isEnd(end, in: tokens) else { return nil }
        self.tokens = start..<end
        self.attributes = attributes
    }

    /// Whether a statement may end before the token at `index`.
    private static func isEnd(_ index: Int, in tokens: [Token]) -> Bool {
        guard index > 0, index < tokens.count else { return true }
        return tokens[index].line > tokens[index - 1].line || tokens[index - 1].text == ";" || tokens[index].text == ";"
    }

    /// The attributes, and the start of the attributes and access level, before the token at `index`.
    private static func attributes(before index: Int, in tokens: [Token]) -> (start: Int, attributes: [String]) {
        var start = index
        var attributes: [String] = []
        while start > 0 {
            if tokens[start - 1].kind == .word, levels.contains(tokens[start - 1].text) {
                start -= 1
                continue
            }
            var name = start - 1
            if tokens[name].text == ")", let open = tokens[..<name].lastIndex(where: { $0.text == "(" }), open > 0 {
                name = open - 1
            }
            guard name > 0, tokens[name].kind == .word, tokens[name - 1].text == "@" else { break }
            attributes.append(tokens[name].text)
            start = name - 1
        }
        return (start, attributes)
    }
}
