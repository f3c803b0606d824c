/// Finds code that may not work as before with this module's URLSession.
struct SourceInspector {
    private let tokens: [Token]
    private let file: String
    private(set) var findings: [Finding] = []

    /// Types that are usually subclassed as mocks for tests.
    private static let mocked: Set = [
        "URLSession", "URLSessionTask", "URLSessionDataTask", "URLSessionUploadTask", "URLSessionDownloadTask",
    ]
    /// How many tokens may stand between a class's name and its brace: anything longer isn't a declaration.
    private static let longestHead = 1_000
    /// How many tokens of a body are looked at.
    private static let longestBody = 10_000
    private static let asyncMethods: Set = ["data", "upload", "download", "bytes"]
    /// What a program does with a downloaded file that it keeps or reads.
    private static let usesOfFiles: Set = [
        "moveItem", "copyItem", "replaceItem", "replaceItemAt", "linkItem", "contentsOf", "contentsOfFile", "contents",
        "forReadingFrom", "move", "copy",
    ]

    init(_ tokens: [Token], _ imports: [ImportStatement], file: String) {
        self.tokens = tokens
        self.file = file
        // Other files don't use either module.
        let modules = [SourceRewriter.stock, SourceRewriter.ours]
        guard imports.contains(where: { modules.contains(tokens[$0.module].text) }) else { return }
        let imported = imports.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
        for index in tokens.indices where tokens[index].kind == .word && !imported.contains(index) { inspect(index) }
    }

    private mutating func inspect(_ index: Int) {
        let word = tokens[index].text
        if word == SourceRewriter.stock, text(index + 1) == "." {
            note(index, "\(word).\(text(index + 2) ?? "") stays the stock module's")
        } else if word == "class", let type = inheritedType(of: index) {
            note(index, "a subclass of \(type): where it stands in for the stock one, check that no code expects that")
        } else if word == "extension", text(index + 1) == "URLSession" {
            inspectExtension(index)
        } else if word == "downloadTask", let handler = handler(after: index) {
            inspectReceiver(index, handler)
        } else if word == "didFinishDownloadingTo", text(index + 1) != ":", let body = block(after: index) {
            inspectReceiver(index, body)
        }
    }

    /// Finds handlers and delegates that only pass the location of a download on: the stock module leaves the file where it is.
    private mutating func inspectReceiver(_ index: Int, _ body: ArraySlice<Token>) {
        guard body.count > 1, !body.contains(where: { Self.usesOfFiles.contains($0.text) }) else { return }
        note(index, "the downloaded file is deleted once this has returned: move it before, if it is needed")
    }

    /// The closure that is the last argument of the call at `index`, or follows it.
    private func handler(after index: Int) -> ArraySlice<Token>? {
        guard text(index - 1) != "func", text(index + 1) == "(" else { return nil }
        var depth = 0
        for position in tokens[index...].indices.prefix(Self.longestHead) {
            switch tokens[position].text {
            case "(": depth += 1
            case ")": depth -= 1
            case "{": return block(after: position)
            default: continue
            }
            if depth == 0 { return text(position + 1) == "{" ? block(after: position) : nil }
        }
        return nil
    }

    /// What the first braces after `index` enclose.
    private func block(after index: Int) -> ArraySlice<Token>? {
        let head = tokens[index...].prefix(Self.longestHead)
        guard let open = head.firstIndex(where: { $0.text == "{" }) else { return nil }
        var depth = 0
        return tokens[open...].prefix(Self.longestBody).prefix { token in
            if token.text == "{" { depth += 1 } else if token.text == "}" { depth -= 1 }
            return depth > 0
        }
    }

    /// The type in `mocked` that the class declared at `index` inherits from.
    private func inheritedType(of index: Int) -> String? {
        guard index + 2 < tokens.count, tokens[index + 1].kind == .word else { return nil }
        let head = tokens[(index + 2)...].prefix(Self.longestHead).prefix { $0.text != "{" }
        // A generic type's parameters and their constraints may come first.
        let rest = head.first?.text == "<" ? head.drop { $0.text != ">" }.dropFirst() : head
        guard rest.first?.text == ":" else { return nil }
        let inherited = rest.dropFirst()
        return inherited.first { Self.mocked.contains($0.text) }?.text
    }

    /// Finds async methods that older versions of the stock module lacked, and this module has.
    private mutating func inspectExtension(_ index: Int) {
        guard let open = tokens[index...].firstIndex(where: { $0.text == "{" }) else { return }
        var depth = 0
        for position in tokens[open...].indices {
            switch tokens[position].text {
            case "{": depth += 1
            case "}": depth -= 1
            case "func" where depth == 1:
                guard let name = text(position + 1), Self.asyncMethods.contains(name),
                    tokens[position...].prefix(while: { $0.text != "{" }).contains(where: { $0.text == "async" })
                else { continue }
                note(position, "URLSession has an async \(name)(…) of its own: this one is probably superfluous")
            case "struct", "class", "typealias":
                guard depth == 1, text(position + 1) == "AsyncBytes" else { continue }
                note(position, "URLSession has AsyncBytes of its own: this one, and what returns it, has to go")
            default: continue
            }
            if depth == 0 { return }
        }
    }

    private func text(_ index: Int) -> String? {
        tokens.indices.contains(index) ? tokens[index].text : nil
    }

    private mutating func note(_ index: Int, _ text: String) {
        findings.append(Finding(file: file, line: tokens[index].line, text: text))
    }
}
