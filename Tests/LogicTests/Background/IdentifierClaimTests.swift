import Foundation
import Testing

@testable import CurlNetworking

@Suite("Claims to the identifiers of background sessions")
struct IdentifierClaimTests {
    /// No other test's.
    private let folder = StateFolder(URL(fileURLWithPath: "/nowhere/\(UUID())", isDirectory: true))

    @Test("The first session has the identifier until it gives it up, and then the first that asks")
    func turns() {
        let first = IdentifierClaim("a", in: folder)
        let second = IdentifierClaim("a", in: folder)
        #expect(!second.isGranted() && first.isGranted())
        second.giveUp()
        #expect(!second.isGranted() && first.isGranted())
        first.giveUp()
        #expect(second.isGranted() && !first.isGranted())
    }

    @Test("A session that is gone has no identifier")
    func gone() {
        var first: IdentifierClaim? = IdentifierClaim("a", in: folder)
        let second = IdentifierClaim("a", in: folder)
        #expect(first?.isGranted() == true && !second.isGranted())
        first = nil
        #expect(second.isGranted())
    }

    @Test("Other identifiers and other folders are other names")
    func names() {
        let first = IdentifierClaim("a", in: folder)
        let elsewhere = StateFolder(folder.url.appendingPathComponent("x"))
        let others = [
            IdentifierClaim("b", in: folder), IdentifierClaim("a", in: elsewhere),
            IdentifierClaim("\u{E9}", in: folder), IdentifierClaim("e\u{301}", in: folder),
        ]
        #expect(others.allSatisfy { $0.isGranted() } && first.isGranted())
    }
}
