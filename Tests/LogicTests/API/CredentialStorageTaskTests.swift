import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A credential storage's methods that take a task")
struct CredentialStorageTaskTests {
    private let storage = URLCredentialStorage()
    private let task: URLSessionTask

    init() throws {
        task = try URLSession.forTest().dataTask(with: Sample.url("https://example.com/"))
    }

    /// Another object each time, as in challenges.
    private static func space(realm: String = "vault") -> URLProtectionSpace {
        URLProtectionSpace(
            host: "example.com",
            port: 443,
            protocol: "https",
            realm: realm,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic
        )
    }

    private static func credential(_ user: String, _ password: String = "secret") -> URLCredential {
        URLCredential(user: user, password: password, persistence: .forSession)
    }

    @Test("A storage's methods that take a task find a space by its values")
    func finding() async {
        let credential = Self.credential("user")
        storage.setDefaultCredential(credential, for: Self.space())
        #expect(await storage.credentials(for: Self.space(), task: task) == ["user": credential])
        #expect(await storage.defaultCredential(for: Self.space(), task: task) == credential)
        storage.getCredentials(for: Self.space(), task: task) { #expect($0 == ["user": credential]) }
        storage.getDefaultCredential(for: Self.space(), task: task) { #expect($0 == credential) }
        #expect(await storage.credentials(for: Self.space(realm: "other"), task: task) == nil)
        #expect(await storage.defaultCredential(for: Self.space(realm: "other"), task: task) == nil)
    }

    @Test("A storage's methods that take a task store and remove for spaces with the same values")
    func storing() async {
        let (old, new, another) = (Self.credential("user", "old"), Self.credential("user"), Self.credential("another"))
        storage.set(old, for: Self.space(), task: task)
        storage.set(new, for: Self.space(), task: task)
        storage.setDefaultCredential(another, for: Self.space(), task: task)
        #expect(storage.allCredentials.count == 1)
        #expect(await storage.credentials(for: Self.space(), task: task) == ["user": new, "another": another])
        #expect(await storage.defaultCredential(for: Self.space(), task: task) == another)
        storage.remove(another, for: Self.space(), task: task)
        #expect(await storage.credentials(for: Self.space(), task: task) == ["user": new])
        #expect(await storage.defaultCredential(for: Self.space(), task: task) == nil)
    }

    @Test("A user's new password replaces the default credential with the old one, and no other user's")
    func newDefault() async {
        let (old, new, another) = (Self.credential("user", "old"), Self.credential("user"), Self.credential("another"))
        storage.set(old, for: Self.space(), task: task)
        #expect(await storage.defaultCredential(for: Self.space(), task: task) == old)
        for credential in [new, another] { storage.set(credential, for: Self.space(), task: task) }
        #expect(await storage.defaultCredential(for: Self.space(), task: task) == new)
    }

    @Test("A storage's methods that take a task find what the stock methods have stored for equal spaces")
    func several() async {
        let spaces = [Self.space(), Self.space()]
        let (first, second) = (Self.credential("first"), Self.credential("second"))
        storage.set(first, for: spaces[0])
        storage.set(second, for: spaces[1])
        #expect(await storage.credentials(for: Self.space(), task: task) == ["first": first, "second": second])
        let later = Self.credential("first", "later")
        storage.set(later, for: spaces[0], task: task)
        #expect(storage.credentials(for: spaces[0]) == ["first": later])
        for credential in [later, second] { storage.remove(credential, for: Self.space(), task: task) }
        #expect(storage.allCredentials.isEmpty)
    }
}
