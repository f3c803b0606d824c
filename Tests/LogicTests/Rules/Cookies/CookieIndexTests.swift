import Foundation
import Testing

@testable import CurlNetworking

@Suite("The index of cookies")
struct CookieIndexTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    static func cookie(
        _ name: String = "a",
        value: String = "1",
        domain: String = "example.com",
        path: String = "/",
        isSecure: Bool = false,
        expires: Date? = nil
    ) throws -> HTTPCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
        if isSecure { properties[.secure] = "TRUE" }
        if let expires { properties[.expires] = expires }
        return try #require(HTTPCookie(properties: properties))
    }

    private static func names(_ index: CookieIndex) -> [String] {
        index.all.map(\.key.name).sorted()
    }

    /// What changes: "+" for set, "-" for removed.
    private static func summary(_ changes: [CookieChange]) -> [String] {
        changes.map { change in
            switch change {
            case .set(let cookie): "+" + cookie.key.name
            case .remove(let cookie): "-" + cookie.key.name
            }
        }
    }

    // MARK: - Look-ups

    @Test("A look-up among 20,000 cookies examines those of the host and its parents alone")
    func cost() throws {
        var cookies = try (0..<19_996).map { try Self.cookie("n\($0)", domain: "h\($0 % 5000).example.net") }
        cookies += try [
            Self.cookie("own", domain: "www.example.com"), Self.cookie("parent", domain: ".example.com"),
            Self.cookie("parent's own", domain: "example.com"), Self.cookie("sibling", domain: "mail.example.com"),
        ]
        let index = CookieIndex(cookies)
        #expect(index.count == 20_000)
        let target = try #require(CookieTarget(Sample.url("http://www.example.com/")))
        #expect(index.candidates(for: target).map(\.key.name).sorted() == ["own", "parent", "parent's own"])
        #expect(index.fieldValue(for: target, now: Self.now) == "own=1; parent=1")
    }

    @Test("The field has no more than servers take: what doesn't fit is left out, and what comes after may fit again")
    func largestField() throws {
        let index = try CookieIndex(
            [("a", 10), ("b", 8000), ("c", 200), ("d", 20)].map { name, length in
                try Self.cookie(name, value: String(repeating: "x", count: length))
            }
        )
        let target = try #require(CookieTarget(Sample.url("http://example.com/")))
        let field = try #require(index.fieldValue(for: target, now: Self.now))
        #expect(field.split(separator: ";").map { $0.prefix { $0 != "=" } } == ["a", " b", " d"])
        let whole = try CookieIndex([Self.cookie("a", value: String(repeating: "x", count: 8188))])
        #expect(whole.fieldValue(for: target, now: Self.now)?.utf8.count == 8190)
        let large = try CookieIndex([Self.cookie("a", value: String(repeating: "x", count: 8189))])
        #expect(large.fieldValue(for: target, now: Self.now) == nil)
    }

    @Test("A domain with all the cookies it may have leaves requests to its hosts possible")
    func sibling() throws {
        let cookies = try (0..<CookieIndex.maximumPerDomain).map {
            try Self.cookie("n\($0)", value: String(repeating: "x", count: 4000), domain: ".example.com")
        }
        let target = try #require(CookieTarget(Sample.url("http://www.example.com/")))
        let field = try #require(CookieIndex(cookies).fieldValue(for: target, now: Self.now))
        let sent = CookieIndex(cookies).sentCookies(for: target, now: Self.now)
        #expect(sent.compactMap(\.pair).joined(separator: "; ") == field, "the program is told of the same")
        #expect(field.utf8.count <= CookieIndex.maximumField)
    }

    @Test("A cookie that replaces another takes over its place among the others")
    func replacement() throws {
        var index = try CookieIndex([Self.cookie("a"), Self.cookie("b")])
        _ = try index.store([Self.cookie("a", value: "2")], isSecureOrigin: false, now: Self.now)
        let target = try #require(CookieTarget(Sample.url("http://example.com/")))
        #expect(index.fieldValue(for: target, now: Self.now) == "a=2; b=1")
        #expect(index.count == 2)
    }

    @Test("A cookie that is removed is gone, and counted no longer")
    func removal() throws {
        var index = try CookieIndex([Self.cookie("a"), Self.cookie("b")])
        #expect(try index.remove(CookieKey(Self.cookie("a")))?.key.name == "a")
        #expect(try index.remove(CookieKey(Self.cookie("a"))) == nil)
        #expect(Self.names(index) == ["b"])
        #expect(index.count == 1)
    }

    // MARK: - Storing

    @Test("A cookie that changes nothing is not written")
    func noChange() throws {
        let expires = Self.now + 60
        var index = try CookieIndex([Self.cookie("a"), Self.cookie("b", expires: expires)])
        let same = try [Self.cookie("a"), Self.cookie("b", expires: expires), Self.cookie("gone", expires: Self.now)]
        #expect(index.store(same, isSecureOrigin: false, now: Self.now).isEmpty)
        let other = try [Self.cookie("a", value: "2"), Self.cookie("b"), Self.cookie("a", value: "2", path: "/x")]
        #expect(Self.summary(index.store(other, isSecureOrigin: false, now: Self.now)) == ["+a", "+b", "+a"])
    }

    @Test("A value with other bytes is another, even if it is equal to Swift")
    func equivalentValues() throws {
        var index = try CookieIndex([Self.cookie("a", value: "\u{E9}")])
        let changes = try index.store([Self.cookie("a", value: "e\u{301}")], isSecureOrigin: false, now: Self.now)
        #expect(Self.summary(changes) == ["+a"])
        let target = try #require(CookieTarget(Sample.url("http://example.com/")))
        let field = try #require(index.fieldValue(for: target, now: Self.now))
        #expect(Array(field.utf8) == Array("a=e\u{301}".utf8))
    }

    @Test("A cookie that replaces another is written with the time of that one")
    func writtenTime() throws {
        var index = CookieIndex()
        let expires = Self.now + 60
        var times: [Double?] = []
        for value in ["1", "2"] {
            let cookies = try [Self.cookie("a", value: value, expires: expires)]
            let changes = index.store(cookies, isSecureOrigin: false, now: Self.now)
            times += changes.map { CookieNote($0.cookie.cookie.comment)?.created }
        }
        let created = try #require(index.all.first?.created)
        #expect(times == [created, created])
    }

    @Test("A cookie that replaces another in the storage does so in the index, and a Secure one only over https")
    func concatenation() throws {
        var index = try CookieIndex([Self.cookie("SID", isSecure: true), Self.cookie("SID", domain: "other.com")])
        let other = try Self.cookie("ID", path: "/S")
        #expect(index.store([other], isSecureOrigin: false, now: Self.now).isEmpty)
        #expect(Self.names(index) == ["SID", "SID"])
        let changes = index.store([other], isSecureOrigin: true, now: Self.now)
        #expect(Self.summary(changes) == ["+ID"])
        #expect(changes.first?.cookie.isInStorage == true, "its removal removes the other one")
        #expect(Self.names(index) == ["ID", "SID"])
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: UUID().uuidString)
        let cookies = try [Self.cookie("SID"), other]
        for cookie in cookies { storage.setCookie(cookie) }
        #expect(storage.cookies?.map(\.name) == ["ID"], "otherwise this isn't needed any more")
        storage.deleteCookie(cookies[1])
    }

    @Test("An expired cookie removes the one before it")
    func expiry() throws {
        var index = try CookieIndex([Self.cookie("a"), Self.cookie("b")])
        let expired = try Self.cookie("a", expires: Self.now)
        #expect(Self.summary(index.store([expired], isSecureOrigin: false, now: Self.now)) == ["-a"])
        #expect(Self.names(index) == ["b"])
    }

    // MARK: - Limits

    @Test("Of more cookies than a domain may have the oldest go, with and without subdomains counted together")
    func perDomain() throws {
        var index = CookieIndex()
        let first = try (1...180).map { try Self.cookie("n\($0)", domain: $0 % 2 == 0 ? "a.com" : ".a.com") }
        _ = index.store(first, isSecureOrigin: false, now: Self.now)
        let others = try [Self.cookie("other", domain: "b.com"), Self.cookie("below", domain: "www.a.com")]
        _ = index.store(others, isSecureOrigin: false, now: Self.now)
        let more = try (181...183).map { try Self.cookie("n\($0)", domain: "a.com") }
        let changes = Self.summary(index.store(more, isSecureOrigin: false, now: Self.now))
        #expect(changes == ["+n181", "+n182", "+n183", "-n1", "-n2", "-n3"])
        #expect(index.count == 182)
    }

    @Test("Expired cookies go first, and secure ones last")
    func order() throws {
        var index = CookieIndex()
        let secure = try (1...178).map { try Self.cookie("s\($0)", isSecure: true) }
        let others = try [Self.cookie("plain"), Self.cookie("expired", expires: Self.now + 1)]
        _ = index.store(secure + others, isSecureOrigin: true, now: Self.now)
        let more = try [Self.cookie("new1"), Self.cookie("new2")]
        let changes = Self.summary(index.store(more, isSecureOrigin: false, now: Self.now + 1))
        #expect(changes == ["+new1", "+new2", "-expired", "-plain"])
    }

    @Test("Of more than 3,000 in all the oldest go")
    func inAll() throws {
        var index = CookieIndex()
        for domain in 0..<30 {
            let cookies = try (0..<100).map { try Self.cookie("n\($0)", domain: "h\(domain).com") }
            #expect(index.store(cookies, isSecureOrigin: false, now: Self.now).count == 100)
        }
        // A site's second cookie doesn't take the place of its first.
        for (name, removed) in [("first", "n0"), ("second", "n1")] {
            let changes = try index.store([Self.cookie(name, domain: "b.com")], isSecureOrigin: false, now: Self.now)
            #expect(Self.summary(changes) == ["+" + name, "-" + removed])
            #expect(changes.last?.cookie.key.domain == "h0.com")
        }
        #expect(index.count == 3000)
    }

    @Test("A site with many hosts evicts its own cookies alone", arguments: [false, true])
    func manyHosts(isSecureOrigin: Bool) throws {
        var index = try CookieIndex((0..<50).map { try Self.cookie("n\($0)", domain: "bank.com") })
        for host in 1...20 {
            let cookies = try (0..<180).map { try Self.cookie("n\($0)", domain: "h\(host).evil.com") }
            _ = index.store(cookies, isSecureOrigin: isSecureOrigin, now: Self.now)
        }
        #expect(index.cookies(ofDomain: "bank.com").count == 50)
        #expect(index.cookies(ofDomain: "h1.evil.com").isEmpty)
        #expect(index.count == 3000)
        // The cookies of others take the place of its own as well.
        let other = try Self.cookie("other", domain: "other.com")
        let changes = index.store([other], isSecureOrigin: isSecureOrigin, now: Self.now)
        #expect(Self.summary(changes).count == 2)
        #expect(changes.last?.cookie.key.domain.hasSuffix(".evil.com") == true)
    }

    @Test("Of a full storage, what has expired goes before what a site has beyond its share")
    func expiredOfOthers() throws {
        var index = CookieIndex()
        for host in 1...2 {
            let cookies = try (0..<150).map { try Self.cookie("n\($0)", domain: "h\(host).large.com") }
            _ = index.store(cookies, isSecureOrigin: true, now: Self.now)
        }
        for site in 1...27 {
            let cookies = try (0..<100).map {
                try Self.cookie("n\($0)", domain: "site\(site).com", expires: Self.now + 1)
            }
            _ = index.store(cookies, isSecureOrigin: true, now: Self.now)
        }
        let new = try Self.cookie("new", domain: "other.com")
        let changes = index.store([new], isSecureOrigin: true, now: Self.now + 2)
        #expect(index.count == 3000 && changes.count == 2)
        #expect(changes.last?.cookie.key.domain.hasPrefix("site") == true)
    }

    @Test("Over http a site evicts none of its own cookies that are Secure")
    func manySecureHosts() throws {
        var index = CookieIndex()
        for host in 1...17 {
            let cookies = try (0..<180).map { try Self.cookie("n\($0)", domain: "h\(host).evil.com", isSecure: true) }
            _ = index.store(cookies, isSecureOrigin: true, now: Self.now)
        }
        let new = try Self.cookie("new", domain: "h18.evil.com")
        let changes = index.store([new], isSecureOrigin: false, now: Self.now)
        #expect(Self.summary(changes) == ["+new", "-new"])
    }

    @Test("Over http, new cookies of a full storage evict no Secure ones, and rather go themselves")
    func secureInAll() throws {
        var index = CookieIndex()
        for domain in 0..<30 {
            let isSecure = domain != 7
            let cookies = try (0..<100).map {
                try Self.cookie("n\($0)", domain: "h\(domain).com", isSecure: isSecure)
            }
            _ = index.store(cookies, isSecureOrigin: true, now: Self.now)
        }
        let new = try (0..<101).map { try Self.cookie("new\($0)", domain: "b.com") }
        var other = index
        let changes = Self.summary(index.store(new, isSecureOrigin: false, now: Self.now))
        #expect(changes.filter { $0.hasPrefix("+") }.count == 101)
        #expect(Set(changes.filter { $0.hasPrefix("-") }) == Set((0..<100).map { "-n\($0)" } + ["-new0"]))
        #expect(index.all.filter(\.isSecure).count == 2900)
        // Over https the oldest go, whatever they are.
        let first = try other.store([Self.cookie("new", domain: "b.com")], isSecureOrigin: true, now: Self.now)
        #expect(first.last?.cookie.key.domain == "h0.com")
    }

    @Test("Responses add nothing to what a program has stored beyond the limits, and take no more away")
    func program() throws {
        var index = try CookieIndex((1...4000).map { try Self.cookie("n\($0)") })
        let changes = try index.store([Self.cookie("new")], isSecureOrigin: false, now: Self.now)
        #expect(Self.summary(changes) == ["+new", "-n1"])
        #expect(index.count == 4000)
    }

    // MARK: - Secure cookies

    static let insecure: [(domain: String, path: String, isStored: Bool)] = [
        ("example.com", "/login", false), (".example.com", "/login", false), (".example.com", "/login/", false),
        ("example.com", "/login/en", false), ("www.example.com", "/login", false), (".com", "/login", false),
        ("example.com", "/", true), ("example.com", "/log", true), ("example.com", "/loginx", true),
        ("badexample.com", "/login", true), ("example.org", "/login", true),
    ]

    @Test("A cookie from http neither overwrites nor shadows a secure one", arguments: insecure)
    func protection(_ example: (domain: String, path: String, isStored: Bool)) throws {
        for domain in ["example.com", ".example.com"] {
            var index = try CookieIndex([Self.cookie(domain: domain, path: "/login", isSecure: true)])
            let new = try Self.cookie(value: "2", domain: example.domain, path: example.path)
            let changes = index.store([new], isSecureOrigin: false, now: Self.now)
            #expect(changes.isEmpty == !example.isStored)
            let other = try Self.cookie("other", domain: example.domain, path: example.path)
            #expect(index.store([other], isSecureOrigin: false, now: Self.now).count == 1)
            #expect(index.all.filter(\.isSecure).map(\.cookie.value) == ["1"])
        }
    }

    @Test("A cookie from http doesn't delete a secure one")
    func protectionFromDeletion() throws {
        var index = try CookieIndex([Self.cookie(isSecure: true)])
        let expired = try Self.cookie(expires: Self.now - 1)
        #expect(index.store([expired], isSecureOrigin: false, now: Self.now).isEmpty)
        #expect(index.count == 1)
        #expect(Self.summary(index.store([expired], isSecureOrigin: true, now: Self.now)) == ["-a"])
    }

    @Test("A secure cookie may be replaced by a plain one from https, and protects nothing once it has expired")
    func replacementOfSecure() throws {
        var index = try CookieIndex([Self.cookie(isSecure: true, expires: Self.now + 1)])
        let new = try Self.cookie(value: "2")
        #expect(index.store([new], isSecureOrigin: false, now: Self.now).isEmpty)
        var later = index
        #expect(later.store([new], isSecureOrigin: false, now: Self.now + 1).count == 1)
        #expect(index.store([new], isSecureOrigin: true, now: Self.now).count == 1)
        #expect(index.all.map(\.cookie.value) == ["2"])
    }

    @Test("A secure cookie of an address protects that address alone")
    func addresses() throws {
        var index = try CookieIndex([Self.cookie(domain: "1.127.0.0.1", isSecure: true)])
        #expect(try index.store([Self.cookie(domain: "127.0.0.1")], isSecureOrigin: false, now: Self.now).isEmpty)
        index = try CookieIndex([Self.cookie(domain: "0.0.1", isSecure: true)])
        #expect(try index.store([Self.cookie(domain: "127.0.0.1")], isSecureOrigin: false, now: Self.now).count == 1)
    }
}
