import Foundation

/// Finds uses of the stock URLSession in the fetched packages that a package depends on.
struct DependencyInspector {
    private(set) var findings: [Finding] = []

    /// - Parameter checkouts: SwiftPM's folder of fetched packages.
    init(_ checkouts: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: checkouts.path)) ?? []
        for name in names.sorted() {
            let sources = checkouts.appendingPathComponent(name).appendingPathComponent("Sources")
            let flat = checkouts.appendingPathComponent(name).appendingPathComponent("Source")
            inspect(name, SourceTree(sources).files + SourceTree(flat).files)
        }
    }

    /// What a package does with the stock module that concerns packages that switch.
    private enum Use: CaseIterable {
        case exports, extends, shows

        var note: String {
            switch self {
            case .exports:
                "exports FoundationNetworking again: the names are ambiguous beside it, so add the aliases"
            case .extends:
                "extends the stock URLSession: its helpers and conformances are not those of CurlNetworking's"
            case .shows:
                "has URLSession in its API: that is the stock one, and `.shared` there is the stock session"
            }
        }
    }

    private mutating func inspect(_ package: String, _ files: [URL]) {
        let uses = files.reduce(into: Set<Use>()) { $0.formUnion(Self.uses(in: $1)) }
        findings += Use.allCases.filter(uses.contains).map { Finding(file: package, line: nil, text: $0.note) }
    }

    private static func uses(in file: URL) -> Set<Use> {
        guard let text = try? String(contentsOf: file, encoding: .utf8),
            text.contains("URLSession") || text.contains(SourceRewriter.stock)
        else { return [] }
        var uses: Set<Use> = []
        let tokens = Lexer.tokens(of: text)
        let imports = ImportStatement.all(in: tokens).filter { tokens[$0.module].text == SourceRewriter.stock }
        if imports.contains(where: { $0.attributes.contains("_exported") }) { uses.insert(.exports) }
        for (index, token) in tokens.enumerated() where token.text == "URLSession" && index > 0 {
            let line = tokens[..<index].reversed().prefix { $0.line == token.line }
            if tokens[index - 1].text == "extension" {
                uses.insert(.extends)
            } else if line.contains(where: { $0.text == "public" }) {
                uses.insert(.shows)
            }
        }
        return uses
    }
}
