import Foundation
import TestSupport
import Testing

@Suite("The documentation's table of options")
struct OptionTableTests {
    @Test("The page on tuning has a row for every option")
    func complete() throws {
        let options = try Self.options()
        #expect(options.isSuperset(of: ["CurlOptions/tls", "CurlOptions/TLSOptions/identity", "CurlOptions/hosts"]))
        let missing = try options.subtracting(Self.documented())
        #expect(missing.isEmpty, "TuningConnections.md, \"Each option\"")
    }

    @Test("The page on tuning has no row for an option that is gone")
    func current() throws {
        let gone = try Self.documented().filter { $0.hasPrefix("CurlOptions/") }.subtracting(Self.options())
        #expect(gone.isEmpty)
    }

    /// The links in the tables' first cells.
    private static func documented() throws -> Set<String> {
        let page = try String(
            contentsOf: sources.appendingPathComponent("CurlNetworking.docc/TuningConnections.md"),
            encoding: .utf8
        )
        let section = page.split(separator: "\n### ").first { $0.hasPrefix("Each option\n") } ?? ""
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ``") }
        let cells = rows.compactMap { $0.split(separator: "|").first }
        return Set(
            cells.flatMap { $0.matches(of: /``(.+?)``/) }.map { String($0.1) }
        )
    }

    // MARK: - The sources

    /// The public variables of `CurlOptions` and the types within it.
    private static func options() throws -> Set<String> {
        let folder = sources.appendingPathComponent("API/Options")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var options: Set<String> = []
        for file in files where file.hasPrefix("CurlOptions") && file.hasSuffix(".swift") {
            options.formUnion(
                variables(in: try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8))
            )
        }
        return options.filter { option in
            option.hasPrefix("CurlOptions/") && !parts.contains { option.hasPrefix($0 + "/") }
                && !["description", "debugDescription", "customMirror"].contains { option.hasSuffix("/" + $0) }
        }
    }

    /// Types that are an option's value as a whole.
    private static let parts = [
        "CurlOptions/ConnectionOptions/KeepAliveProbes", "CurlOptions/ConnectionOptions/LowSpeedLimit",
        "CurlOptions/Endpoint",
    ]

    /// By the paths that DocC gives them. The formatter's indentation says where a type ends.
    private static func variables(in source: String) -> [String] {
        var types: [(indentation: Int, path: String)] = []
        var found: [String] = []
        for line in source.split(separator: "\n") {
            let indentation = line.prefix { $0 == " " }.count
            let text = line.dropFirst(indentation)
            if text == "}", types.last?.indentation == indentation { types.removeLast() }
            if let match = text.prefixMatch(of: /(?:public )?(?:extension|struct|enum) ([A-Za-z.]+)/),
                text.hasSuffix("{")
            {
                let name = String(match.1).replacing(".", with: "/")
                types.append((indentation, types.last.map { "\($0.path)/\(name)" } ?? name))
            }
            if let match = text.prefixMatch(of: /public var ([A-Za-z0-9]+)/), let type = types.last {
                found.append("\(type.path)/\(match.1)")
            }
        }
        return found
    }

    private static let sources = Products.sources.appendingPathComponent(
        "Sources/CurlNetworking"
    )
}
