import Foundation
import Testing

@testable import CurlNetworking

@Suite("What is to be written into a cookie storage")
struct PendingCookieWritesTests {
    private static func cookie(_ name: String, _ value: String = "1", isInStorage: Bool = false) throws -> StoredCookie
    {
        try StoredCookie(CookieIndexTests.cookie(name, value: value), isInStorage: isInStorage)
    }

    private static func summary(_ changes: [CookieChange]?) -> [String]? {
        changes?.map { change in
            switch change {
            case .set(let cookie): "\(cookie.key.name)=\(cookie.cookie.value)"
            case .remove(let cookie): "-\(cookie.key.name)"
            }
        }
    }

    @Test("Changes are taken in the order they came, the last word on each cookie alone")
    func lastWord() throws {
        var pending = PendingCookieWrites()
        try pending.note(.set(Self.cookie("a")))
        try pending.note(.set(Self.cookie("b")))
        try pending.note(.set(Self.cookie("a", "2")))
        try pending.note(.remove(Self.cookie("c", isInStorage: true)))
        #expect(pending.count == 3)
        #expect(Self.summary(pending.take(upTo: 2)) == ["a=2", "b=1"])
        pending.finish()
        #expect(Self.summary(pending.take(upTo: 2)) == ["-c"])
        #expect(!pending.isEmpty)
        pending.finish()
        #expect(pending.isEmpty)
        #expect(pending.take(upTo: 2) == nil)
    }

    @Test("A cookie that goes before it was written leaves nothing to do")
    func neverWritten() throws {
        var pending = PendingCookieWrites()
        for number in 1...1000 {
            try pending.note(.set(Self.cookie("n\(number)")))
            try pending.note(.remove(Self.cookie("n\(number)")))
        }
        #expect(pending.isEmpty)
        #expect(pending.take(upTo: 1) == nil)
    }

    @Test("A stored cookie that goes, comes back and goes again is removed from the storage")
    func removedTwice() throws {
        var pending = PendingCookieWrites()
        try pending.note(.remove(Self.cookie("a", isInStorage: true)))
        try pending.note(.set(Self.cookie("a", "2")))
        try pending.note(.remove(Self.cookie("a", "2")))
        #expect(Self.summary(pending.take(upTo: 1)) == ["-a"])
    }

    @Test("A stored cookie that goes after its replacement was put back is removed from the storage")
    func removedAfterPuttingBack() throws {
        var pending = PendingCookieWrites()
        try pending.note(.set(Self.cookie("a", "2", isInStorage: true)))
        _ = pending.take(upTo: 1)
        pending.putBack()
        try pending.note(.remove(Self.cookie("a", "2")))
        #expect(Self.summary(pending.take(upTo: 1)) == ["-a"])
    }

    @Test("A cookie that goes while it is being written is removed afterwards")
    func beingWritten() throws {
        var pending = PendingCookieWrites()
        try pending.note(.set(Self.cookie("a")))
        _ = pending.take(upTo: 1)
        #expect(try Self.summary([#require(pending[Self.cookie("a").key])]) == ["a=1"])
        try pending.note(.remove(Self.cookie("a")))
        pending.finish()
        #expect(Self.summary(pending.take(upTo: 1)) == ["-a"])
    }

    @Test("Changes that are put back come first again, unless there is a later word on them")
    func putBack() throws {
        var pending = PendingCookieWrites()
        for name in ["a", "b", "c"] { try pending.note(.set(Self.cookie(name))) }
        _ = pending.take(upTo: 2)
        try pending.note(.set(Self.cookie("b", "2")))
        pending.putBack()
        #expect(pending.count == 3)
        #expect(Self.summary(pending.take(upTo: 2)) == ["a=1", "b=2"])
        pending.finish()
        #expect(Self.summary(pending.take(upTo: 2)) == ["c=1"])
    }

    @Test("A change noted before the storage was last compared gives way to the program's, and all else stays")
    func givingWay() throws {
        var pending = PendingCookieWrites()
        let key = try Self.cookie("a").key
        try pending.note(.set(Self.cookie("a")))
        pending.giveWay(key)
        #expect(pending.count == 1)
        pending.markCompared()
        try pending.note(.set(Self.cookie("a", "2")))
        pending.giveWay(key)
        #expect(Self.summary(pending.take(upTo: 1)) == ["a=2"])
        // The storage was compared before it was taken.
        pending.putBack()
        pending.giveWay(key)
        #expect(pending.isEmpty)
        #expect(pending.take(upTo: 1) == nil)
    }

    @Test("A mark has passed when all that came before it is written, however much comes after it")
    func marks() throws {
        var pending = PendingCookieWrites()
        try pending.note(.set(Self.cookie("a")))
        _ = pending.take(upTo: 1)
        try pending.note(.set(Self.cookie("b")))
        let mark = pending.mark
        pending.finish()
        #expect(!pending.hasPassed(mark))
        #expect(Self.summary(pending.take(upTo: 1)) == ["b=1"])
        try pending.note(.set(Self.cookie("c")))
        #expect(!pending.hasPassed(mark))
        pending.finish()
        #expect(pending.hasPassed(mark))
        #expect(!pending.isEmpty)
    }

    @Test("A batch all of whose cookies have gone is over")
    func emptyBatch() throws {
        var pending = PendingCookieWrites()
        try pending.note(.set(Self.cookie("a")))
        try pending.note(.set(Self.cookie("b")))
        _ = pending.take(upTo: 1)
        try pending.note(.remove(Self.cookie("b")))
        let mark = pending.mark
        pending.finish()
        #expect(pending.hasPassed(mark))
        #expect(pending.take(upTo: 1) == nil)
        try pending.note(.set(Self.cookie("c")))
        #expect(Self.summary(pending.take(upTo: 1)) == ["c=1"])
    }
}

@Suite("What has happened to a cookie storage")
struct CookieSnapshotTests {
    @Test("Added, removed and replaced cookies are told apart from those that stay")
    func difference() throws {
        let (stays, goes) = try (CookieIndexTests.cookie("stays"), CookieIndexTests.cookie("goes"))
        let (old, new) = try (CookieIndexTests.cookie("changes"), CookieIndexTests.cookie("changes", value: "2"))
        var snapshot = CookieSnapshot()
        #expect(snapshot.update(to: [stays, goes, old]).added.map(\.key.name) == ["stays", "goes", "changes"])
        let difference = try snapshot.update(to: [new, CookieIndexTests.cookie("comes"), stays])
        #expect(difference.added.map(\.key.name) == ["changes", "comes"])
        #expect(difference.removed.map(\.key.name) == ["goes"])
        #expect(snapshot.update(to: snapshot.cookies).removed.isEmpty)
    }

    @Test("A change amid many cookies is found, wherever it is", arguments: [0, 1, 50, 99])
    func amid(position: Int) throws {
        var cookies = try (0..<100).map { try CookieIndexTests.cookie("n\($0)") }
        var snapshot = CookieSnapshot()
        _ = snapshot.update(to: cookies)
        try cookies.insert(CookieIndexTests.cookie("new"), at: position)
        var difference = snapshot.update(to: cookies)
        #expect(difference.added.map(\.key.name) == ["new"])
        #expect(difference.removed.isEmpty)
        cookies.remove(at: position)
        cookies.swapAt(position, 99 - position)
        difference = snapshot.update(to: cookies)
        #expect(difference.added.isEmpty)
        #expect(difference.removed.map(\.key.name) == ["new"])
        #expect(snapshot.cookies.count == 100)
    }

    @Test("The same cookies are the same objects in the same order")
    func sameness() throws {
        let (a, b) = try (CookieIndexTests.cookie("a"), CookieIndexTests.cookie("b"))
        #expect(CookieSnapshot.areSame([a, b], [a, b]))
        #expect(!CookieSnapshot.areSame([a, b], [a]))
        #expect(try !CookieSnapshot.areSame([a], [CookieIndexTests.cookie("a")]))
    }
}

@Suite("How long a cookie storage will be busy")
struct StorageEffortTests {
    @Test("A few cookies in a file are short work, and more of them in memory")
    func effort() {
        #expect(StorageEffort.isShort(changes: 10, cookies: 50, isInMemory: false))
        #expect(!StorageEffort.isShort(changes: 180, cookies: 180, isInMemory: false))
        #expect(!StorageEffort.isShort(changes: 1, cookies: 3000, isInMemory: false))
        #expect(StorageEffort.isShort(changes: 180, cookies: 3000, isInMemory: true))
        #expect(!StorageEffort.isShort(changes: .max, cookies: 20_000, isInMemory: true))
    }
}
