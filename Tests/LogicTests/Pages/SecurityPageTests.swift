import Foundation
import TestSupport
import Testing

@Suite("The documentation's page on security")
struct SecurityPageTests {
    @Test("The page on security names existing tests, at least one for each input")
    func tests() throws {
        let page = Products.sources.appendingPathComponent("Sources/CurlNetworking/CurlNetworking.docc/Security.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") && !$0.hasPrefix("| input") }
        #expect(rows.count > 15)
        let tests = Products.sources.appendingPathComponent("Tests")
        let paths = FileManager.default.enumerator(atPath: tests.path)?.compactMap { $0 as? String } ?? []
        let files = Set(paths.map { ($0 as NSString).lastPathComponent })
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 3, "\(row)")
            for name in cells[2].components(separatedBy: ", ") {
                #expect(files.contains(name + ".swift"), "\(name)")
            }
        }
    }
}
