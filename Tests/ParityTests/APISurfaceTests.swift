import Foundation
import TestSupport
import Testing

@Suite("The public interface", .timeLimit(.minutes(2)))
struct APISurfaceTests {
    @Test("Every symbol of the stock URLSession family is there, as it is there, but for those with a reason")
    func symbols() async throws {
        let (stock, ours) = try await Self.graphs()
        let known = Dictionary(grouping: ours.symbols, by: \.path).mapValues { $0.map(\.declaration) }
        let family = stock.symbols.filter(Self.belongs)
        #expect(family.count > 250, "the stock module's symbols were not found")
        var used: Set<String> = []
        for symbol in Set(family) where !(known[symbol.path] ?? []).contains(where: { Self.fits($0, symbol) }) {
            if let reason = AllowedDifferences.entry(for: symbol) {
                used.insert(reason)
            } else {
                let instead = known[symbol.path, default: ["nothing"]].joined(separator: " / ")
                Issue.record("\(symbol.path): the stock module has “\(symbol.declaration)”, ours \(instead)")
            }
        }
        let superfluous = Set(AllowedDifferences.reasons.keys).subtracting(used).sorted()
        #expect(superfluous.isEmpty, "allowed differences that are none any more")
    }

    @Test("Every type conforms to and inherits from what its stock sibling does")
    func conformances() async throws {
        let (stock, ours) = try await Self.graphs()
        let family = stock.conformances.filter { Self.isFamily($0) && !AllowedDifferences.covers($0) }
        #expect(family.contains("URLSessionTask: Sendable"), "the stock module's conformances were not found")
        #expect(family.subtracting(ours.conformances).sorted() == [])
    }

    @Test("Everything that only Apple's URLSession has, and that has a meaning on Linux, is there")
    func additions() async throws {
        let ours = try await Self.graphs().ours
        let known = Dictionary(grouping: ours.symbols, by: \.path).mapValues { $0.map(\.declaration) }
        for (path, declaration) in AppleAdditions.present {
            let declarations = known[path] ?? []
            #expect(declarations.contains(declaration), "\(path): ours is \(declarations)")
        }
        for conformance in AppleAdditions.conformances { #expect(ours.conformances.contains(conformance)) }
    }

    @Test("The list of aliases is complete, and no constant or function has a name of the stock module's")
    func aliases() async throws {
        let (stock, ours) = try await Self.graphs()
        let stockNames = Set(stock.symbols.map(\.path))
        let common = ours.symbols.filter { symbol in
            !symbol.path.contains(".") && stockNames.contains(symbol.path)
                && !symbol.declaration.hasSuffix("unavailable")
        }
        let kinds = ["class", "protocol", "struct", "enum"]
        let types = common.filter { symbol in
            kinds.contains { symbol.declaration.split(separator: " ").prefix(2).contains(Substring($0)) }
        }
        #expect(Set(common).subtracting(types).map(\.path).sorted() == [])
        let page = try String(
            contentsOf: Products.sources.appendingPathComponent(
                "Sources/CurlNetworking/CurlNetworking.docc/SwitchingTheImport.md"
            ),
            encoding: .utf8
        )
        let aliases = page.split(separator: "\n").filter { $0.hasPrefix("typealias ") }.map {
            $0.split(separator: " ")[1]
        }
        #expect(Set(types.map(\.path)) == Set(aliases.map(String.init)))
    }

    // MARK: - What is compared

    private static func graphs() async throws -> (stock: SymbolGraph, ours: SymbolGraph) {
        let directory = try TemporaryDirectory()
        let stock = directory.url.appendingPathComponent("stock")
        let ours = directory.url.appendingPathComponent("ours")
        for url in [stock, ours] {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }
        return (
            try await SymbolGraph(ofModule: "FoundationNetworking", in: stock),
            try await SymbolGraph(ofModule: "CurlNetworking", arguments: Products.moduleArguments, in: ours)
        )
    }

    private static func isFamily(_ path: String) -> Bool {
        ["URLSession", "NSURLSession", "URLProtocol"].contains { path.hasPrefix($0) }
    }

    /// The family itself, and the methods of other types that take one of it.
    private static func belongs(_ symbol: SymbolGraph.Symbol) -> Bool {
        isFamily(symbol.path) || symbol.declaration.contains("URLSession")
    }

    /// What is open takes the place of what is public. Methods of the reused types come by extension, where nothing can be
    /// open.
    private static func fits(_ declaration: String, _ stock: SymbolGraph.Symbol) -> Bool {
        let other = isFamily(stock.path) ? ("public ", "open ") : ("open ", "public ")
        return declaration == stock.declaration
            || stock.declaration.hasPrefix(other.0)
                && declaration == other.1 + stock.declaration.dropFirst(other.0.count)
    }
}

extension Products {
    /// What lets the compiler find its modules.
    static let moduleArguments =
        ["-I", directory.appendingPathComponent("Modules").path]
        + ["CCurlNetworkingLibcurl", "CCurlNetworkingLinux"].flatMap { module in
            ["-Xcc", "-fmodule-map-file=\(sources.path)/Modules/\(module)/module.modulemap"]
        }
}
