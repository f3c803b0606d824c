import Foundation
import TestSupport
import Testing

@Suite("The documentation's page on examples")
struct ExamplesPageTests {
    /// What stands between two lines with three backticks, and the folder that the page named last before it.
    private struct Snippet {
        let folder: String
        var lines: [String] = []
    }

    private static let page = Products.sources
        .appendingPathComponent("Sources/CurlNetworking/CurlNetworking.docc/Examples.md")

    @Test("The page on examples shows lines that are in the sources, one after the other")
    func snippets() throws {
        let snippets = try Self.snippets()
        for snippet in snippets {
            let sources = try Self.sources(in: snippet.folder)
            let isThere = sources.contains { Self.contains($0, snippet.lines) }
            #expect(isThere, "not in Tests/Examples/\(snippet.folder): \(snippet.lines.joined(separator: "\n"))")
        }
    }

    @Test("The page on examples shows each example, and says how it is run")
    func folders() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let folders = try FileManager.default.contentsOfDirectory(atPath: ExampleProgram.sources.path)
        #expect(try Set(Self.snippets().map(\.folder)) == Set(folders))
        for folder in folders where folder != "Support" {
            let text = try Self.sources(in: folder).joined().joined(separator: "\n")
            let usage = try #require(text.firstMatch(of: /curlnetworking-[a-z-]+/))
            #expect(page.contains("swift run \(usage.output) "))
        }
    }

    private static func snippets() throws -> [Snippet] {
        var snippets: [Snippet] = []
        var folder = ""
        var current: Snippet?
        for line in try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n") {
            if let match = line.firstMatch(of: /`Tests\/Examples\/(\w+)`/) { folder = String(match.1) }
            if line == "```swift" {
                current = Snippet(folder: folder)
            } else if line == "```" {
                if let current { snippets.append(current) }
                current = nil
            } else {
                current?.lines.append(line)
            }
        }
        return snippets
    }

    /// The lines of each file.
    private static func sources(in folder: String) throws -> [[String]] {
        let folder = ExampleProgram.sources.appendingPathComponent(folder)
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map { file in
            try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        }
    }

    /// Whether the lines stand in the source as they are, but for what all of them are indented by.
    private static func contains(_ source: [String], _ lines: [String]) -> Bool {
        guard let first = lines.first, !first.isEmpty, source.count >= lines.count else { return false }
        return (0...source.count - lines.count).contains { start in
            let part = source[start..<start + lines.count]
            guard let match = part.first, match.hasSuffix(first) else { return false }
            let indent = match.dropLast(first.count)
            guard indent.allSatisfy({ $0 == " " }) else { return false }
            return zip(part, lines).allSatisfy { $0 == ($1.isEmpty ? "" : indent + $1) }
        }
    }
}
