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
    private static let asyncMethods: Set = ["data", "upload", "download", "bytes"]

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
