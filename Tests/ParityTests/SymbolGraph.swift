import Foundation
import TestSupport

/// A module's public symbols, as the compiler tells them (`swift symbolgraph-extract`).
struct SymbolGraph {
    struct Symbol: Hashable {
        /// Such as `URLSession.dataTask(with:)`.
        let path: String
        /// The declaration with everything that a caller or subclass may have to say: `open`, `async`, `@Sendable`.
        let declaration: String
    }

    private(set) var symbols: [Symbol] = []
    /// What types conform to and inherit from: `URLSession: Sendable`.
    private(set) var conformances: Set<String> = []

    /// - Parameters:
    ///   - arguments: For the compiler, where the module isn't one of the toolchain's.
    ///   - directory: An empty one, for the compiler's output.
    init(ofModule module: String, arguments: [String] = [], in directory: URL) async throws {
        let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "swift"
        let words = [
            swift, "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public", "-target",
            Self.target, "-output-dir", directory.path,
        ]
        let process = try ChildProcess(words + arguments, mergesErrors: true)
        let output = await process.remainingLines().joined(separator: "\n")
        guard await process.ending() == .exit(0) else { throw ExtractionError(description: output) }
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        where name == "\(module).symbols.json" || name.hasPrefix("\(module)@Foundation") {
            let data = try Data(contentsOf: directory.appendingPathComponent(name))
            read(try JSONDecoder().decode(File.self, from: data))
        }
    }

    private static var target: String {
        #if arch(arm64)
            "aarch64-unknown-linux-gnu"
        #else
            "x86_64-unknown-linux-gnu"
        #endif
    }

    private mutating func read(_ file: File) {
        symbols += file.symbols.map(\.symbol)
        for relation in file.relationships where ["conformsTo", "inheritsFrom"].contains(relation.kind) {
            let source = file.symbols.first { $0.identifier.precise == relation.source }
            guard let source else { continue }
            let target = file.symbols.first { $0.identifier.precise == relation.target }
            let path = target?.path ?? relation.targetFallback ?? relation.target
            let name = path.split(separator: ".").last ?? ""
            // Every class is; the compiler notes it where it pleases.
            if name != "Copyable", name != "Escapable" { conformances.insert("\(source.path): \(name)") }
        }
    }
}

/// What the compiler said instead of telling the symbols.
private struct ExtractionError: Error, CustomStringConvertible {
    let description: String
}

// MARK: - The compiler's format

private struct File: Decodable {
    struct Relationship: Decodable {
        let kind: String
        let source: String
        let target: String
        let targetFallback: String?
    }

    let symbols: [Declaration]
    let relationships: [Relationship]
}

private struct Declaration: Decodable {
    struct Identifier: Decodable {
        let precise: String
    }

    struct Fragment: Decodable {
        let spelling: String
    }

    struct Availability: Decodable {
        let domain: String
        let isUnconditionallyDeprecated: Bool?
        let isUnconditionallyUnavailable: Bool?
        let deprecated: Version?

        struct Version: Decodable {
            let major: Int
            let minor: Int?
        }

        /// What it says on Linux; nil where it is about another system.
        var text: String? {
            guard ["*", "Swift", "Linux"].contains(domain) else { return nil }
            let version = deprecated.map { "since \(domain) \($0.major).\($0.minor ?? 0)" }
            if isUnconditionallyDeprecated ?? false || version != nil { return "deprecated \(version ?? "")" }
            return isUnconditionallyUnavailable ?? false ? "unavailable" : nil
        }
    }

    let identifier: Identifier
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let accessLevel: String
    let availability: [Availability]?

    var path: String { pathComponents.joined(separator: ".") }

    var symbol: SymbolGraph.Symbol {
        var text = (declarationFragments ?? []).map(\.spelling).joined()
        // To its users a stored property is one with a getter and a setter, and a constant one with a getter.
        if text.contains("var "), !text.hasSuffix("}") { text += " { get set }" }
        if text.hasPrefix("let ") { text = "var " + text.dropFirst("let ".count) + " { get }" }
        let notes = (availability ?? []).compactMap(\.text).sorted()
        return SymbolGraph.Symbol(path: path, declaration: ([accessLevel, text] + notes).joined(separator: " "))
    }
}
