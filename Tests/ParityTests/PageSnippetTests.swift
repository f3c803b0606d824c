import Foundation
import TestSupport
import Testing

/// The Swift in the documentation, put to the compiler. `Examples.md` and `WhatTheCompilerSays.md` have tests of their own.
@Suite("The Swift of the pages", .timeLimit(.minutes(5)))
struct PageSnippetTests {
    @Test("Each block of the README and the pages compiles, as a function's body below the imports it has")
    func blocks() async throws {
        let blocks = try Self.blocks()
        #expect(blocks.count >= 34, "the pages were not found, or are written in another way")
        let directory = try TemporaryDirectory()
        var files = [try directory.file("Prelude.swift", Data(Self.prelude.utf8))]
        for (name, block) in blocks {
            files.append(try directory.file("\(name).swift", Data(Self.program(block).utf8)))
        }
        let errors = try await SnippetCompiler.errors(ofFiles: files)
        #expect(errors.isEmpty, "\(errors.sorted().joined(separator: "\n"))")
    }

    /// What the pages leave to the reader.
    private static let prelude = """
        import CurlNetworking
        import Foundation

        let (url, note, noteOnDisk) = (URL(fileURLWithPath: "/"), URL(fileURLWithPath: "/"), URL(fileURLWithPath: "/"))
        let (path, destination) = (URL(fileURLWithPath: "/"), URL(fileURLWithPath: "/"))
        let (request, order, secret, passphrase) = (URLRequest(url: url), Data(), "", "")
        let (ids, knownCertificate, delegate) = ([1], Data(), Delegate())
        var configuration: CurlNetworking.URLSessionConfiguration { .ephemeral }
        var session: CurlNetworking.URLSession { .shared }
        var task: CurlNetworking.URLSessionDownloadTask { session.downloadTask(with: url) }
        var bytes: CurlNetworking.URLSession.AsyncBytes { fatalError() }
        var progress: Delegate { delegate }
        final class Delegate: NSObject, CurlNetworking.URLSessionDelegate, CurlNetworking.URLSessionTaskDelegate {}
        struct TooLong: Error {}
        struct Digest { func update(_ bytes: some Sequence<UInt8>) {} }
        struct Logger { func debug(_ text: String) {} }
        let (logger, digest) = (Logger(), Digest())
        func url(of id: Int) -> URL { url }
        func show(_ result: (Data, URLResponse)) async throws {}
        func show(_ text: String) {}
        """

    /// By page and number; without manifests, and without what is of other packages.
    private static func blocks() throws -> [(name: String, block: String)] {
        var files = try FileManager.default.contentsOfDirectory(at: PageSnippets.pages, includingPropertiesForKeys: nil)
        files.append(Products.sources.appendingPathComponent("README.md"))
        let haveTheirOwn = ["Examples.md", "WhatTheCompilerSays.md"]
        return try files.filter { $0.pathExtension == "md" && !haveTheirOwn.contains($0.lastPathComponent) }
            .flatMap { file in
                try PageSnippets.blocks(of: file).enumerated()
                    .map { number, text in
                        let block = text.components(separatedBy: "```")[0]
                        // Pages that compare begin with how another client does it.
                        let ours = block.range(of: "// CurlNetworking").map { String(block[$0.lowerBound...]) } ?? block
                        return ("\(file.deletingPathExtension().lastPathComponent)\(number)", ours)
                    }
            }
            .filter {
                !$0.1.contains("PackageDescription") && !$0.1.contains(".package(")
                    && !$0.1.contains("import Alamofire")
            }
    }

    private static func program(_ block: String) -> String {
        let lines = block.replacing("{ … }", with: "{ return }").components(separatedBy: "\n")
        let isTop = { (line: String) in
            let words = line.drop { $0 == " " }
            return words.hasPrefix("import ") || words.hasPrefix("#")
        }
        let imports = lines.filter(isTop)
        let body = lines.filter { !isTop($0) }
        return """
            \((imports.isEmpty ? ["import CurlNetworking", "import Foundation"] : imports).joined(separator: "\n"))
            private func snippet() async throws {
            \(body.joined(separator: "\n"))
            }
            """
    }
}
