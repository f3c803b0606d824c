import Foundation
import Testing

@testable import CurlNetworking

@Suite("Names of those who decide about connections")
struct DeciderNamesTests {
    private final class Decider {}

    @Test("An object that decides keeps its name, and no other gets that, however many there have been")
    func names() {
        let names = DeciderNames()
        let lasting = (0..<100).map { _ in Decider() }
        let first = lasting.map(names.name)
        #expect(Set(first).count == 100)
        // These may get each other's addresses.
        let short = Set((0..<1000).map { _ in names.name(of: Decider()) })
        #expect(short.count == 1000 && short.isDisjoint(with: first))
        #expect(lasting.map(names.name) == first)
    }
}
