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

    private mutating func inspect(_ package: String, _ files: [URL]) {
        var (exports, extends, shows) = (false, false, false)
        for file in files {
            guard let text = try? String(contentsOf: file, encoding: .utf8),
                text.contains("URLSession") || text.contains(SourceRewriter.stock)
            else { continue }
            let tokens = Lexer.tokens(of: text)
            for statement in ImportStatement.all(in: tokens) where tokens[statement.module].text == SourceRewriter.stock
            {
                exports = exports || statement.attributes.contains("_exported")
            }
            for (index, token) in tokens.enumerated() where token.text == "URLSession" && index > 0 {
                if tokens[index - 1].text == "extension" {
                    extends = true
                } else if tokens[..<index].reversed().prefix(while: { $0.line == token.line }).contains(where: {
                    $0.text == "public"
                }) {
                    shows = true
                }
            }
        }
        if exports {
            note(package, "exports FoundationNetworking again: the names are ambiguous beside it, so add the aliases")
        }
        if extends {
            note(
                package,
                "extends the stock URLSession: its helpers and conformances are not those of CurlNetworking's"
            )
        }
        if shows {
            note(package, "has URLSession in its API: that is the stock one, and `.shared` there is the stock session")
        }
    }

    private mutating func note(_ package: String, _ text: String) {
        findings.append(Finding(file: package, line: nil, text: text))
    }
}
