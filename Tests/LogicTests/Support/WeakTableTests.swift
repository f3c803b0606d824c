import Testing

@testable import CurlNetworking

@Suite("Objects by key, for as long as they are used")
struct WeakTableTests {
    private final class Object: Sendable {}

    @Test("A key has one object for as long as that is used")
    func identity() {
        let table = WeakTable<Int, Object>()
        var object: Object? = table.object(for: 1) { Object() }
        #expect(table.object(for: 1) { Object() } === object)
        #expect(table[1] === object)
        object = nil
        #expect(table[1] == nil)
    }

    @Test("Keys whose objects are gone don't pile up")
    func bounded() {
        let table = WeakTable<Int, Object>()
        let used = (0..<100).map { table.object(for: $0) { Object() } }
        for key in 100..<10_000 { _ = table.object(for: key) { Object() } }
        #expect(table.count <= 2 * used.count)
        #expect(used.indices.allSatisfy { table[$0] === used[$0] })
    }
}
