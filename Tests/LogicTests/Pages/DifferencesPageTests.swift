import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The documentation's page on differences")
struct DifferencesPageTests {
    private static let pages = Products.sources.appendingPathComponent(
        "Sources/CurlNetworking/CurlNetworking.docc"
    )

    private static func page(_ name: String) throws -> String {
        try String(contentsOf: pages.appendingPathComponent(name), encoding: .utf8)
    }

    @Test(
        "The page on differences has a row for each that is left on purpose",
        arguments: [
            "App Transport Security", "`Alt-Svc`", "`.permanent`", "Other properties of configurations",
            "Redirects in a row",
            "404 in the cache", "only a subclass has", "Key-value observing", "HTTP Strict Transport Security",
            "A request's own `allowsCellularAccess`", "`assumesHTTP3Capable`", "requestIsCacheEquivalent",
        ]
    )
    func rows(text: String) throws {
        let rows = try Self.page("Differences.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
        #expect(rows.count { $0.contains(text) } == 1)
    }

    @Test("The page on differences says how many redirects are followed")
    func redirects() throws {
        let row = try Self.page("Differences.md").split(separator: "\n").first {
            $0.hasPrefix("| Redirects in a row |")
        }
        #expect(
            row?.split(separator: "|").last { $0.contains("Fetch") }?.contains(" \(TaskBudget.redirects),")
                == true
        )
    }

    @Test("No page claims that nothing differs")
    func claims() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.pages.path).filter { $0.hasSuffix(".md") }
        #expect(names.count > 20)
        for name in names {
            let text = try Self.page(name).lowercased()
            for claim in ["none that are known", "none are known", "differs by intent"] {
                #expect(!text.contains(claim), "\(name)")
            }
        }
    }
}
