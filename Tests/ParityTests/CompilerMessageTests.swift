import Foundation
import TestSupport
import Testing

/// The documentation's page on what the compiler says, put to the compiler.
@Suite("What the compiler says", .timeLimit(.minutes(5)))
struct CompilerMessageTests {
    @Test("Each program of the page compiles, or fails with just the errors that stand after it")
    func page() async throws {
        let cases = try Self.cases()
        #expect(cases.count > 15, "the page was not found, or is written in another way")
        #expect(cases.contains { $0.errors.isEmpty } && cases.contains { !$0.errors.isEmpty })
        for example in cases {
            let errors = try await SnippetCompiler.errors(of: example.program, seesModules: !example.lacksModule)
            #expect(errors == example.errors, "\(example.program)")
        }
    }

    @Test("URLSession.shared is the stock session where a library's parameter says so, as the page has it")
    func sharedSession() async throws {
        let program = """
            import CurlNetworking
            import StockLibrary

            func session() -> FoundationNetworking.URLSession {
                API(session: .shared).session
            }
            """
        #expect(try await SnippetCompiler.errors(of: program).isEmpty)
    }

    // MARK: - The page

    private struct Example {
        let program: String
        let errors: Set<String>
        var lacksModule: Bool { errors.contains { $0.contains("no such module") } }
    }

    private static func cases() throws -> [Example] {
        var examples: [Example] = []
        for block in try PageSnippets.blocks(of: PageSnippets.pages.appendingPathComponent("WhatTheCompilerSays.md")) {
            let parts = block.components(separatedBy: "```\n")
            let program = parts[0]
            // A second block follows at once, or not at all.
            let output = parts.count > 2 && parts[1].isEmpty ? parts[2] : ""
            let errors = output.split(separator: "\n").map { String($0).replacing("error: ", with: "") }
            examples.append(Example(program: program, errors: Set(errors)))
        }
        return examples
    }
}

/// The Swift of the documentation's pages.
enum PageSnippets {
    static let pages = Products.sources.appendingPathComponent("Sources/CurlNetworking/CurlNetworking.docc")

    /// Each block of the page, with everything up to the next.
    static func blocks(of page: URL) throws -> ArraySlice<String> {
        try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
    }
}

/// Type-checks programs against the modules of the build under test.
enum SnippetCompiler {
    /// The texts of the compiler's errors.
    static func errors(of program: String, seesModules: Bool = true) async throws -> Set<String> {
        let directory = try TemporaryDirectory()
        let file = try directory.file("Snippet.swift", Data(program.utf8))
        return try await errors(ofFiles: [file], seesModules: seesModules)
    }

    static func errors(ofFiles files: [URL], seesModules: Bool = true) async throws -> Set<String> {
        let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "swift"
        let compiler = swift.hasSuffix("swift") ? swift + "c" : "swiftc"
        let words =
            [compiler, "-typecheck", "-parse-as-library", "-swift-version", "6", "-diagnostic-style", "llvm"]
            + (seesModules ? Products.moduleArguments : []) + files.map(\.path)
        let process = try ChildProcess(words, mergesErrors: true)
        let lines = await process.remainingLines()
        _ = await process.ending()
        let mark = ": error: "
        let errors = lines.compactMap { line in line.range(of: mark).map { String(line[$0.upperBound...]) } }
        return Set(errors)
    }
}
