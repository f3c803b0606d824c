/// Changes a Swift file's imports of FoundationNetworking into imports of CurlNetworking. A value: text in, text out.
///
/// A conditional block with only imports keeps the stock module for where this one isn't available:
///
/// ```swift
/// #if canImport(CurlNetworking)
/// import CurlNetworking
/// #elseif canImport(FoundationNetworking)
/// import FoundationNetworking
/// #endif
/// ```
///
/// In other conditional blocks such a block replaces the import: they may be compiled for platforms that have only the stock module.
struct SourceRewriter {
    static let stock = "FoundationNetworking"
    static let ours = "CurlNetworking"

    /// The new text; the old one if there is nothing to change.
    private(set) var text: String
    /// Whether the file now imports this module, whether or not it did before.
    private(set) var importsOurs = false
    /// Whether an import is conditional, as in files that are also built for Apple's platforms.
    private(set) var isConditional = false
    /// Whether there are imports of the stock module for where this one isn't available.
    private(set) var hasFallback = false
    private(set) var findings: [Finding] = []

    private let old: String
    private let file: String
    private let tokens: [Token]
    private let imports: [ImportStatement]
    private let blocks: [ConditionalBlock]

    init(_ text: String, file: String) {
        self.text = text
        self.file = file
        old = text
        tokens = Lexer.tokens(of: text)
        imports = ImportStatement.all(in: tokens)
        blocks = ConditionalBlock.all(in: tokens)

        let stock = imports(of: Self.stock)
        let replaceable = stock.filter { !isFallback($0) }
        importsOurs = !imports(of: Self.ours).isEmpty
        hasFallback = replaceable.count < stock.count
        if importsOurs, let first = replaceable.first {
            note("both modules are imported: left as it is", about: first)
        } else {
            replace(replaceable)
        }
        noteExported()
        noteOverlooked()
        findings += SourceInspector(tokens, imports, file: file).findings
    }

    private func imports(of module: String) -> [ImportStatement] {
        imports.filter { tokens[$0.module].text == module }
    }

    private mutating func replace(_ stock: [ImportStatement]) {
        let fallbacks = blocks.map { fallback(for: $0) }
        var edits = Array(fallbacks.joined())
        for statement in stock {
            importsOurs = true
            let around = blocks.indices.filter { blocks[$0].clause(around: statement.module) != nil }
            isConditional = isConditional || !around.isEmpty
            let isSafe = around.contains { index in
                !fallbacks[index].isEmpty
                    || blocks[index].clause(around: statement.module)?.isForLinuxAlone(in: tokens) == true
            }
            let mayLackOurs = !around.isEmpty && !isSafe
            if mayLackOurs, let edit = fallback(around: statement) {
                edits.append(edit)
                continue
            }
            edits.append(Edit(tokens[statement.module].range, Self.ours))
            guard mayLackOurs else { continue }
            note(
                "the import is for all platforms that its condition allows: see that Linux is the only one",
                about: statement
            )
        }
        text = old.applying(edits)
    }

    // MARK: - Findings

    private mutating func note(_ text: String, about statement: ImportStatement) {
        findings.append(Finding(file: file, line: tokens[statement.module].line, text: text))
    }

    private mutating func noteExported() {
        for statement in imports where statement.attributes.contains("_exported") {
            guard [Self.stock, Self.ours].contains(tokens[statement.module].text) else { continue }
            note(
                "the import is exported: whoever imports this module sees CurlNetworking's URLSession from now on",
                about: statement
            )
        }
    }

    /// Notes the lines that begin like imports of the stock module, or have one among other code, without being any, as far as can be told:
    /// regular expressions without number signs, say, can look like the beginning of a comment.
    private mutating func noteOverlooked() {
        var known = Set(imports.map { tokens[$0.module].line })
        for (keyword, module) in zip(tokens, tokens.dropFirst())
        where keyword.kind == .word && keyword.text == "import" && module.text == Self.stock {
            guard known.insert(module.line).inserted else { continue }
            let text = "what looks like an import, in the middle of a line: left as it is"
            findings.append(Finding(file: file, line: module.line, text: text))
        }
        let lines = old.split(omittingEmptySubsequences: false) { ["\n", "\r", "\r\n"].contains($0) }
        for (index, line) in lines.enumerated() where !known.contains(index + 1) {
            guard line.drop(while: \.isWhitespace).hasPrefix("import \(Self.stock)") else { continue }
            let text = "an import within what looks like a comment or a string: left as it is"
            findings.append(Finding(file: file, line: index + 1, text: text))
        }
    }

    // MARK: - Fallbacks

    /// Whether a block imports this module if possible, and `statement` is for when it isn't.
    private func isFallback(_ statement: ImportStatement) -> Bool {
        blocks.contains { block in
            guard let clause = block.clause(around: statement.module) else { return false }
            return block.clauses.contains { $0.asksFor(Self.ours, in: tokens) && $0 != clause }
        }
    }

    /// The edits that add a second clause to a block with only imports.
    private func fallback(for block: ConditionalBlock) -> [Edit] {
        guard block.clauses.count == 1, let clause = block.clauses.first, clause.asksFor(Self.stock, in: tokens) else {
            return []
        }
        let inside = imports.filter { clause.body.contains($0.module) }
        guard inside.contains(where: { tokens[$0.module].text == Self.stock }) else { return [] }
        let covered = inside.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
        guard clause.body.allSatisfy({ covered.contains($0) || tokens[$0].text == ";" }) else { return [] }
        let name = tokens[clause.condition.lowerBound + 2].range
        let end = tokens[block.end].range.lowerBound
        let indentation = old.indentation(at: end)
        // From the end of the #if's line to the #endif, including comments.
        let start = old.startOfNextLine(after: tokens[clause.condition.upperBound - 1].range.upperBound)
        guard !old.text(of: tokens[block.clauses[0].directive].range.lowerBound..<start).contains("/*") else {
            return []
        }
        let body = old.text(of: start..<end - indentation.utf8.count)
        let second = "#elseif canImport(\(Self.stock))" + old.lineBreak + body + indentation
        return [Edit(name, Self.ours), Edit(insertingAt: end, second)]
    }

    /// The edit that puts a block with two clauses in place of an import; nil unless the import has its lines to itself.
    private func fallback(around statement: ImportStatement) -> Edit? {
        let (first, last) = (tokens[statement.tokens.lowerBound], tokens[statement.tokens.upperBound - 1])
        let indentation = old.indentation(at: first.range.lowerBound)
        let start = first.range.lowerBound - indentation.utf8.count
        let end = old.startOfNextLine(after: last.range.upperBound)
        let lines = old.text(of: start..<end)
        let isAlone = tokens.indices.allSatisfy {
            statement.tokens.contains($0) || !(start..<end).contains(tokens[$0].range.lowerBound)
        }
        let startsLine = start == old.startOfLine(of: first.range.lowerBound)
        guard isAlone, startsLine, lines.utf8.last == UInt8(ascii: "\n"), !lines.contains("/*") else { return nil }
        let name = tokens[statement.module].range
        let ourLines = lines.applying([Edit(name.lowerBound - start..<name.upperBound - start, Self.ours)])
        let directives = ["#if canImport(\(Self.ours))", "#elseif canImport(\(Self.stock))", "#endif"].map {
            indentation + $0 + old.lineBreak
        }
        return Edit(start..<end, directives[0] + ourLines + directives[1] + lines + directives[2])
    }
}
