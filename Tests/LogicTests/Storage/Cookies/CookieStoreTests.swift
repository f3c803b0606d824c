import Foundation
import Testing

@testable import CurlNetworking

@Suite("A cookie storage that a program and responses change at once", .timeLimit(.minutes(1)))
struct CookieStoreTests {
    private let storage: HTTPCookieStorage
    private let store: CookieStore
    private let url: URL

    init() throws {
        storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
        store = CookieStore.store(over: storage)
        url = try Sample.url("http://example.com/")
    }

    /// Returns the `Cookie` field of requests after a response with this `Set-Cookie` field.
    private func respond(_ field: String) async -> String? {
        store.store([field], from: url, mainDocument: nil, policy: .always) {}
        return await fieldAfterStoring()
    }

    private func fieldAfterStoring() async -> String? {
        await withCheckedContinuation { continuation in
            store.findCookieField(afterStoringFor: url) { continuation.resume(returning: $0) }
        }
    }

    private func finishWrites() async {
        await withCheckedContinuation { continuation in store.finishWrites { continuation.resume() } }
    }

    /// The storage's cookies after a response with this field, and after `change` by the program before that is written.
    private func content(after field: String, then change: (HTTPCookieStorage) -> Void) async -> [String] {
        store.writing.suspend()
        _ = await respond(field)
        change(storage)
        store.writing.resume()
        await finishWrites()
        return (storage.cookies ?? []).map { "\($0.name)=\($0.value)" }.sorted()
    }

    @Test("A cookie that the program stores after a response stays, whatever the response has yet to change")
    func stored() async throws {
        for field in ["a=guest", "a=; Max-Age=0"] {
            let old = try CookieIndexTests.cookie("a", value: "old")
            let alice = try CookieIndexTests.cookie("a", value: "alice")
            storage.setCookie(old)
            #expect(await fieldAfterStoring() == "a=old")
            let content = await self.content(after: field) { $0.setCookie(alice) }
            #expect(content == ["a=alice"])
            #expect(await fieldAfterStoring() == "a=alice")
        }
    }

    @Test("Cookies that a program stores for a URL are in the storage at once, if a response from there could set them")
    func storedForURL() async throws {
        storage.setCookie(try CookieIndexTests.cookie("session", value: "old", isSecure: true))
        #expect(await fieldAfterStoring() == nil)
        let cookies = try [
            CookieIndexTests.cookie("a", domain: "example.com"), CookieIndexTests.cookie("b", domain: ".com"),
            CookieIndexTests.cookie("c", isSecure: true), CookieIndexTests.cookie("session", value: "fixed"),
        ]
        store.store(cookies, from: url, mainDocument: nil)
        #expect((storage.cookies ?? []).map { "\($0.name)=\($0.value)" }.sorted() == ["a=1", "session=old"])
        #expect(await fieldAfterStoring() == "a=1")
        storage.cookieAcceptPolicy = .never
        store.store([try CookieIndexTests.cookie("d")], from: url, mainDocument: nil)
        #expect(await fieldAfterStoring() == "a=1")
    }

    @Test("Cookies that a program stores for a URL don't wait for those of responses to be written")
    func storedDuringWrite() async throws {
        let alice = try CookieIndexTests.cookie("a", value: "alice")
        let content = await self.content(after: "a=guest") { _ in
            store.store([alice], from: url, mainDocument: nil)
        }
        #expect(content == ["a=alice"])
        #expect(await fieldAfterStoring() == "a=alice")
    }

    @Test("A cookie that the program deletes after a response stays away")
    func deleted() async throws {
        let old = try CookieIndexTests.cookie("a", value: "old")
        storage.setCookie(old)
        #expect(await fieldAfterStoring() == "a=old")
        let content = await self.content(after: "a=guest") { $0.deleteCookie(old) }
        #expect(content.isEmpty)
        #expect(await fieldAfterStoring() == nil)
    }

    @Test("A program's change makes no difference to other cookies that have yet to be written")
    func others() async throws {
        let other = try CookieIndexTests.cookie("b")
        let content = await self.content(after: "a=guest") { $0.setCookie(other) }
        #expect(content == ["a=guest", "b=1"])
        let field = try #require(await fieldAfterStoring())
        #expect(field.components(separatedBy: "; ").sorted() == content)
    }

    @Test("A cookie that the program has stored during a write is removed with all others")
    func removedDuringWrite() async throws {
        let own = try CookieIndexTests.cookie("own")
        store.writing.suspend()
        let field = await respond("a=guest")
        storage.setCookie(own)
        store.removeAll()
        let rest = await fieldAfterStoring()
        store.writing.resume()
        await finishWrites()
        #expect(field == "a=guest" && rest == nil)
        #expect(storage.cookies?.isEmpty ?? true)
        #expect(await fieldAfterStoring() == nil)
    }

    @Test("A cookie that comes after all were removed stays")
    func storedAfterRemoval() async throws {
        store.writing.suspend()
        _ = await respond("a=guest")
        store.removeAll()
        _ = await respond("b=1")
        store.writing.resume()
        await finishWrites()
        #expect(storage.cookies?.map(\.name) == ["b"])
        #expect(await fieldAfterStoring() == "b=1")
    }
}
