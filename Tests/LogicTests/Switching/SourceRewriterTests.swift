import Testing

@testable import switch_to_curlnetworking

@Suite("Switching a file's imports")
struct SourceRewriterTests {
    private func rewritten(_ text: String) -> String { SourceRewriter(text, file: "A.swift").text }
    private func findings(_ text: String) -> [String] {
        SourceRewriter("import FoundationNetworking\n" + text, file: "A.swift").findings.map(\.description)
    }

    @Test(
        "Every form of an import is changed, and nothing beside it",
        arguments: [
            "import FoundationNetworking", "  import FoundationNetworking // for URLSession",
            "@_exported import FoundationNetworking", "@preconcurrency import FoundationNetworking",
            "@testable import FoundationNetworking", "@_implementationOnly import FoundationNetworking",
            "@_spi(Thing) @preconcurrency internal import FoundationNetworking", "public import FoundationNetworking",
            "internal import FoundationNetworking", "package import FoundationNetworking",
            "import class FoundationNetworking.URLSession", "import struct FoundationNetworking.URLRequest",
            "import protocol FoundationNetworking.URLSessionDelegate", "import `FoundationNetworking`",
            "import Foundation; import FoundationNetworking; import Dispatch", "import\tFoundationNetworking",
            "import /* why */ FoundationNetworking", "#if os(Linux)\nimport FoundationNetworking\n#endif",
            "import Foundation\r\nimport FoundationNetworking\r\n", "@preconcurrency\nimport FoundationNetworking",
            "\u{FEFF}import FoundationNetworking", "// why\rimport FoundationNetworking\r",
            "let a = #/b\\/#\"/#; import FoundationNetworking", "let a = #/[/*]\"/#\nimport FoundationNetworking",
            "let a = #/\n  [/*]\n/#\nimport FoundationNetworking",
        ]
    )
    func forms(text: String) {
        let result = SourceRewriter(text, file: "A.swift")
        #expect(result.text == text.replacing("FoundationNetworking", with: "CurlNetworking"))
        #expect(result.importsOurs)
        #expect(rewritten(result.text) == result.text)
    }

    @Test(
        "Text that only looks like an import is left alone",
        arguments: [
            "// import FoundationNetworking", "/* /* */ import FoundationNetworking */",
            "let a = \"import FoundationNetworking\"", "let a = \"\"\"\nimport FoundationNetworking\n\"\"\"",
            "let a = #\"\" import FoundationNetworking\"#", "let a = \"\\(f(\")\")) import FoundationNetworking\"",
            "let a = \"\\\"; import FoundationNetworking\"", "import FoundationNetworkingExtras",
            "import Extras.FoundationNetworking", "let a = FoundationNetworking.URLSession.shared", "import Foundation",
            "print(a.import FoundationNetworking)", "let a = s.contains(/import FoundationNetworking/)",
            "let a = /import FoundationNetworking/", "let a = /b; import FoundationNetworking/",
            "let a = /\n|@b import FoundationNetworking/", "/import FoundationNetworking/.b()", "", "import",
            "import class", "\"", "#", "/*", "`", "#\"",
        ]
    )
    func lookalikes(text: String) {
        #expect(rewritten(text) == text)
    }

    @Test("Unfinished strings end with their line")
    func unfinished() {
        #expect(rewritten("let a = /\"/\nimport FoundationNetworking") == "let a = /\"/\nimport CurlNetworking")
    }

    @Test("A block for the import alone keeps the stock module for where this one isn't, with the file's own style")
    func fallback() {
        let text = "#if canImport(FoundationNetworking)\r\n  import FoundationNetworking\r\n#endif\r\nlet a = 1\r\n"
        let expected =
            "#if canImport(CurlNetworking)\r\n  import CurlNetworking\r\n#elseif canImport(FoundationNetworking)\r\n"
            + "  import FoundationNetworking\r\n#endif\r\nlet a = 1\r\n"
        let result = SourceRewriter(text, file: "A.swift")
        #expect(result.text == expected)
        #expect(result.isConditional)
        #expect(rewritten(expected) == expected)
        #expect(SourceRewriter(expected, file: "A.swift").hasFallback)
    }

    @Test("An indented block keeps its style, with several imports and a comment")
    func indentedFallback() {
        let text = """
                #if canImport(FoundationNetworking)
                    // For Linux.
                    @preconcurrency import FoundationNetworking; import Dispatch
                #endif
            """
        #expect(
            rewritten(text) == """
                    #if canImport(CurlNetworking)
                        // For Linux.
                        @preconcurrency import CurlNetworking; import Dispatch
                    #elseif canImport(FoundationNetworking)
                        // For Linux.
                        @preconcurrency import FoundationNetworking; import Dispatch
                    #endif
                """
        )
    }

    @Test("A comment that begins on the line of the condition and goes on is not torn")
    func tornComment() {
        let text = "#if canImport(FoundationNetworking) /* a\nb */ import FoundationNetworking\n#endif"
        let expected = "#if canImport(FoundationNetworking) /* a\nb */ import CurlNetworking\n#endif"
        #expect(rewritten(text) == expected)
    }

    @Test(
        "In other blocks the stock module is kept as well, for platforms that have only that",
        arguments: [
            ("#if canImport(FoundationNetworking)", "#else\nimport Foundation\n#endif"),
            ("#if canImport(FoundationNetworking)", "let isStock = true\n#endif"),
            ("#if canImport(FoundationNetworking) && !os(Windows)", "#endif"),
            ("#if canImport(Darwin)\nimport Foundation\n#elseif canImport(FoundationNetworking)", "#endif"),
            ("#if canImport(Darwin)\nimport Foundation\n#else", "#endif"), ("#if !os(macOS)", "#endif"),
        ]
    )
    func otherBlocks(beginning: String, end: String) {
        let text = "\(beginning)\n  @preconcurrency import FoundationNetworking // Why.\n\(end)\n"
        let expected = """
            \(beginning)
              #if canImport(CurlNetworking)
              @preconcurrency import CurlNetworking // Why.
              #elseif canImport(FoundationNetworking)
              @preconcurrency import FoundationNetworking // Why.
              #endif
            \(end)

            """
        let result = SourceRewriter(text, file: "A.swift")
        #expect(result.text == expected)
        #expect(result.isConditional && result.importsOurs && result.findings.isEmpty)
        #expect(rewritten(expected) == expected)
    }

    @Test(
        "Where the import shares its line, the block gets the other import alone, and is named",
        arguments: ["import Dispatch; import FoundationNetworking", "import FoundationNetworking /* why */"]
    )
    func sharedLine(line: String) {
        let text = "#if !os(macOS)\n\(line)\n#endif"
        let result = SourceRewriter(text, file: "A.swift")
        #expect(result.text == text.replacing("FoundationNetworking", with: "CurlNetworking"))
        #expect(result.findings.map(\.line) == [2])
    }

    @Test("A file that imports both already is left as it is, and named")
    func both() {
        let text = "import CurlNetworking\nimport FoundationNetworking\n"
        let result = SourceRewriter(text, file: "A.swift")
        #expect(result.text == text)
        #expect(result.findings.map(\.description) == ["A.swift:2: both modules are imported: left as it is"])
    }

    @Test("A place that needs a person is named with its line")
    func needsAHand() {
        #expect(
            findings("let a = FoundationNetworking.URLSession.shared")
                == ["A.swift:2: FoundationNetworking.URLSession stays the stock module's"]
        )
        #expect(
            findings("\nfinal class Mock: URLSessionDataTask, @unchecked Sendable {}")
                == [
                    "A.swift:3: a subclass of URLSessionDataTask: where it stands in for the stock one, check that no"
                        + " code expects that"
                ]
        )
        #expect(
            findings(
                "extension URLSession {\n func data(for a: URLRequest) async throws -> Data { Data() }\n func b() {} }"
            )
                == ["A.swift:3: URLSession has an async data(…) of its own: this one is probably superfluous"]
        )
        #expect(findings("let a: URLSessionStreamTask? = nil").isEmpty)
        #expect(findings("let a = URLSessionConfiguration.background(withIdentifier: \"a\")").isEmpty)
        #expect(findings("let a = URLSession.shared").isEmpty)
        let exported = SourceRewriter("@_exported import FoundationNetworking", file: "A.swift")
        #expect(exported.findings.count == 1)
        #expect(SourceRewriter(exported.text, file: "A.swift").findings == exported.findings)
    }

    @Test("A line that looks like an import, and isn't one as far as can be told, is named")
    func overlooked() {
        let findings = SourceRewriter("let a = /[/*]/\n  import FoundationNetworking\n", file: "A.swift").findings
        #expect(
            findings.map(\.description)
                == ["A.swift:2: an import within what looks like a comment or a string: left as it is"]
        )
    }

    @Test("What looks like an import in the middle of a line is named, once for each line")
    func withinLine() {
        let code = "let a = [/import FoundationNetworking/, /import FoundationNetworking/]\n"
        let result = SourceRewriter("import FoundationNetworking\n" + code, file: "A.swift")
        #expect(result.text == "import CurlNetworking\n" + code)
        #expect(
            result.findings.map(\.description)
                == ["A.swift:2: what looks like an import, in the middle of a line: left as it is"]
        )
    }

    @Test("A generic mock is found, and an AsyncBytes that is in the way of ours")
    func lessUsualFindings() {
        func findings(_ code: String) -> [Int?] {
            SourceRewriter("import FoundationNetworking\n" + code, file: "A.swift").findings.map(\.line)
        }
        #expect(findings("class Mock<T: Codable>: URLSessionDataTask {}") == [2])
        #expect(findings("class Box<T: Codable> {}\nlet a: URLSessionDataTask?").isEmpty)
        #expect(findings("extension URLSession {\n    struct AsyncBytes {}\n}") == [3])
        #expect(findings("extension URLSession {\n    typealias AsyncBytes = Other\n}") == [3])
        #expect(findings("extension URLSession {\n    func a() { struct AsyncBytes {} }\n}").isEmpty)
    }

    @Test("A download's file that is only passed on is found, and one that is moved or read isn't")
    func passedOnFiles() {
        let call = "let task = session.downloadTask(with: url"
        let note = "A.swift:2: the downloaded file is deleted once this has returned: move it before, if it is needed"
        #expect(findings("\(call)) { file, _, _ in continuation.resume(returning: file!) }.resume()") == [note])
        #expect(findings("\(call), completionHandler: { file, _, _ in done(file) })") == [note])
        #expect(findings("\(call)) { file, _, _ in try? manager.moveItem(at: file!, to: place) }").isEmpty)
        #expect(findings("\(call)) { file, _, _ in done(try? Data(contentsOf: file!)) }").isEmpty)
        #expect(findings("\(call), completionHandler: handler)\nif true { done() }").isEmpty)
        #expect(findings("\(call))\nif true { done() }").isEmpty)
        #expect(findings("override func downloadTask(with url: URL) -> URLSessionDownloadTask { task }").isEmpty)
        let method = "func urlSession(_ a: A, downloadTask: B, didFinishDownloadingTo file: URL)"
        #expect(findings("\(method) { done(file) }") == [note])
        #expect(findings("\(method) { try? manager.copyItem(at: file, to: place) }").isEmpty)
        #expect(findings("a.urlSession(b, downloadTask: c, didFinishDownloadingTo: d)\nif true { done() }").isEmpty)
    }

    @Test("However deeply strings and interpolations are nested, the end is reached")
    func deepInterpolation() {
        let code = "import FoundationNetworking\nlet a = " + String(repeating: "\"\\(", count: 100_000)
        #expect(SourceRewriter(code, file: "A.swift").text.hasPrefix("import CurlNetworking"))
    }

    @Test("A file that has nothing to do with either module is of no interest")
    func unrelated() {
        let text = "import Foundation\nfinal class Mock: URLSession {}"
        #expect(SourceRewriter(text, file: "A.swift").findings.isEmpty)
    }
}
