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
    let text: String
    /// Whether the file now imports this module, whether or not it did before.
    private(set) var importsOurs = false
    /// Whether an import is conditional, as in files that are also built for Apple's platforms.
    private(set) var isConditional = false
    /// Whether there are imports of the stock module for where this one isn't available.
    private(set) var hasFallback = false
    private(set) var findings: [Finding] = []

    init(_ text: String, file: String) {
        let tokens = Lexer.tokens(of: text)
        let imports = ImportStatement.all(in: tokens)
        let blocks = ConditionalBlock.all(in: tokens)
        importsOurs = imports.contains { tokens[$0.module].text == Self.ours }
        var edits: [Edit] = []
        let stock = imports.filter { statement in
            guard tokens[statement.module].text == Self.stock else { return false }
            return !blocks.contains { Self.isFallback($0, for: statement.module, tokens) }
        }
        hasFallback = blocks.contains { block in
            imports.contains { tokens[$0.module].text == Self.stock && Self.isFallback(block, for: $0.module, tokens) }
        }
        let hasBoth = stock.contains { statement in
            imports.contains { tokens[$0.module].text == Self.ours && $0.tokens != statement.tokens }
        }
        if hasBoth, let first = stock.first {
            let line = tokens[first.module].line
            findings.append(Finding(file: file, line: line, text: "both modules are imported: left as it is"))
        } else {
            let fallbacks = blocks.map { Self.fallback(for: $0, imports, tokens, text) }
            edits += fallbacks.joined()
            for statement in stock {
                importsOurs = true
                let around = blocks.indices.filter { blocks[$0].clause(around: statement.module) != nil }
                isConditional = isConditional || !around.isEmpty
                let isSafe = around.contains { index in
                    !fallbacks[index].isEmpty
                        || blocks[index].clause(around: statement.module)?.isForLinuxAlone(in: tokens) == true
                }
                let mayLackOurs = !around.isEmpty && !isSafe
                if mayLackOurs, let edit = Self.fallback(around: statement, tokens, text) {
                    edits.append(edit)
                    continue
                }
                edits.append(Edit(tokens[statement.module].range, Self.ours))
                guard mayLackOurs else { continue }
                let note = "the import is for all platforms that its condition allows: see that Linux is the only one"
                findings.append(Finding(file: file, line: tokens[statement.module].line, text: note))
            }
        }
        for statement in imports where statement.attributes.contains("_exported") {
            guard [Self.stock, Self.ours].contains(tokens[statement.module].text) else { continue }
            let note =
                "the import is exported: whoever imports this module sees CurlNetworking's URLSession from now on"
            findings.append(Finding(file: file, line: tokens[statement.module].line, text: note))
        }
        findings += Self.overlooked(in: text, imports, tokens).map { line in
            let note = "an import within what looks like a comment or a string: left as it is"
            return Finding(file: file, line: line, text: note)
        }
        self.text = text.applying(edits)
        findings += SourceInspector(tokens, imports, file: file).findings
    }

    /// The numbers of the lines that begin like imports of the stock module without being any, as far as can be told: regular expressions
    /// without number signs, say, can look like the beginning of a comment.
    private static func overlooked(in text: String, _ imports: [ImportStatement], _ tokens: [Token]) -> [Int] {
        let known = Set(imports.map { tokens[$0.module].line })
        let lines = text.split(omittingEmptySubsequences: false) { ["\n", "\r", "\r\n"].contains($0) }
        return lines.enumerated().compactMap { index, line in
            let begins = line.drop { $0.isWhitespace }.hasPrefix("import \(stock)")
            return begins && !known.contains(index + 1) ? index + 1 : nil
        }
    }

    /// Whether `block` imports this module if possible, and the import at `index` is for when it isn't.
    private static func isFallback(_ block: ConditionalBlock, for index: Int, _ tokens: [Token]) -> Bool {
        guard let clause = block.clause(around: index) else { return false }
        return block.clauses.contains { $0.asksFor(ours, in: tokens) && $0 != clause }
    }

    /// The edits that add a second clause to a block with only imports.
    private static func fallback(
        for block: ConditionalBlock,
        _ imports: [ImportStatement],
        _ tokens: [Token],
        _ text: String
    ) -> [Edit] {
        guard block.clauses.count == 1, let clause = block.clauses.first, clause.asksFor(stock, in: tokens) else {
            return []
        }
        let inside = imports.filter { clause.body.contains($0.module) }
        guard inside.contains(where: { tokens[$0.module].text == stock }) else { return [] }
        let covered = inside.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
        guard clause.body.allSatisfy({ covered.contains($0) || tokens[$0].text == ";" }) else { return [] }
        let name = tokens[clause.condition.lowerBound + 2].range
        let end = tokens[block.end].range.lowerBound
        let indentation = text.indentation(at: end)
        // From the end of the #if's line to the #endif, including comments.
        let start = text.startOfNextLine(after: tokens[clause.condition.upperBound - 1].range.upperBound)
        guard !text.text(of: tokens[block.clauses[0].directive].range.lowerBound..<start).contains("/*") else {
            return []
        }
        let body = text.text(of: start..<end - indentation.utf8.count)
        let second = "#elseif canImport(\(stock))" + text.lineBreak + body + indentation
        return [Edit(name, ours), Edit(insertingAt: end, second)]
    }

    /// The edit that puts a block with two clauses in place of an import; nil unless the import has its lines to itself.
    private static func fallback(around statement: ImportStatement, _ tokens: [Token], _ text: String) -> Edit? {
        let (first, last) = (tokens[statement.tokens.lowerBound], tokens[statement.tokens.upperBound - 1])
        let indentation = text.indentation(at: first.range.lowerBound)
        let start = first.range.lowerBound - indentation.utf8.count
        let end = text.startOfNextLine(after: last.range.upperBound)
        let lines = text.text(of: start..<end)
        let isAlone = tokens.indices.allSatisfy {
            statement.tokens.contains($0) || !(start..<end).contains(tokens[$0].range.lowerBound)
        }
        let startsLine = start == text.startOfLine(of: first.range.lowerBound)
        guard isAlone, startsLine, lines.utf8.last == UInt8(ascii: "\n"), !lines.contains("/*") else { return nil }
        let name = tokens[statement.module].range
        let ourLines = lines.applying([Edit(name.lowerBound - start..<name.upperBound - start, ours)])
        let directives = ["#if canImport(\(ours))", "#elseif canImport(\(stock))", "#endif"].map {
            indentation + $0 + text.lineBreak
        }
        return Edit(start..<end, directives[0] + ourLines + directives[1] + lines + directives[2])
    }
}
