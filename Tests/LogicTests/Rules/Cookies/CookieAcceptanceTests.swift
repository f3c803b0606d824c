import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which cookies are stored")
struct CookieAcceptanceTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)
    private static let suffixes = PublicSuffixList("com\nuk\nco.uk\ngithub.io\n")

    private static func cookies(
        _ fields: String...,
        from url: String = "http://www.example.com/dir/page",
        mainDocument: String? = nil,
        policy: HTTPCookie.AcceptPolicy = .onlyFromMainDocumentDomain
    ) throws -> [HTTPCookie] {
        let acceptance = CookieAcceptance(policy: policy, isPublicSuffix: suffixes.contains)
        return acceptance.cookies(
            from: fields,
            at: try Sample.url(url),
            mainDocument: try mainDocument.map(Sample.url),
            now: now
        )
    }

    @Test("Each field is a cookie of its own")
    func several() throws {
        let cookies = try Self.cookies("a=1; Expires=Sun, 06 Nov 2094 08:49:37 GMT", "b=2", "nonsense", "c=3, d=4")
        #expect(cookies.map(\.name) == ["a", "b", "c"])
        #expect(cookies.map(\.value) == ["1", "2", "3, d=4"])
        #expect(cookies[0].expiresDate == Date(timeIntervalSince1970: 3_939_871_777))
    }

    @Test("Without attributes a cookie is for the host and the directory")
    func defaults() throws {
        let cookie = try #require(Self.cookies("a=b").first)
        #expect(cookie.domain == "www.example.com")
        #expect(cookie.path == "/dir")
        #expect(cookie.expiresDate == nil)
        #expect(!cookie.isSecure)
        #expect(!cookie.isHTTPOnly)
    }

    static let defaultPaths = [
        ("http://a.com", "/"), ("http://a.com/", "/"), ("http://a.com/x", "/"), ("http://a.com/x/", "/x"),
        ("http://a.com/x/y?z=/w/", "/x"),
    ]

    @Test("The default path is that of the directory", arguments: defaultPaths)
    func defaultPath(url: String, path: String) throws {
        #expect(try Self.cookies("a=b", from: url).first?.path == path)
    }

    @Test("The attributes arrive in the cookie")
    func attributes() throws {
        let cookie = try #require(
            Self.cookies(
                "a=b; Domain=example.com; Path=/x; Max-Age=60; Secure; HttpOnly",
                from: "https://www.example.com/"
            ).first
        )
        #expect(cookie.domain == ".example.com")
        #expect(cookie.path == "/x")
        #expect(cookie.expiresDate == Self.now + 60)
        #expect(cookie.isSecure)
        #expect(cookie.isHTTPOnly)
    }

    @Test(
        "A domain that isn't the host's is refused",
        arguments: ["other.com", "ample.com", "a.www.example.com", "com", ".com", "www.example.com.", "b.example.com"]
    )
    func foreign(domain: String) throws {
        #expect(try Self.cookies("a=b; Domain=\(domain)").isEmpty)
    }

    @Test("Of a program's own cookies, those are acceptable that a response could set, as they are")
    func programs() throws {
        let cookies = try [
            CookieIndexTests.cookie("own", domain: "www.example.com"),
            CookieIndexTests.cookie("domain", domain: ".example.com"),
            CookieIndexTests.cookie("parent's own", domain: "example.com"),
            CookieIndexTests.cookie("__Host-a", domain: "www.example.com", isSecure: true),
            CookieIndexTests.cookie("suffix", domain: ".com"), CookieIndexTests.cookie("other", domain: "other.com"),
            CookieIndexTests.cookie("below", domain: "a.www.example.com"),
            CookieIndexTests.cookie("dot", domain: ".com."),
            CookieIndexTests.cookie("__Secure-a", domain: ".example.com"),
            CookieIndexTests.cookie("__Host-b", domain: "www.example.com"),
            CookieIndexTests.cookie("__Host-c", domain: ".example.com", isSecure: true),
            CookieIndexTests.cookie("long", value: String(repeating: "v", count: 4096), domain: "www.example.com"),
            CookieIndexTests.cookie("line", value: "a\r\nb", domain: "www.example.com"),
        ]
        let acceptance = CookieAcceptance(policy: .always, isPublicSuffix: Self.suffixes.contains)
        let names = { (url: String, document: String?, acceptance: CookieAcceptance) throws in
            try acceptance.acceptable(cookies, at: Sample.url(url), mainDocument: document.map { try Sample.url($0) })
                .map(\.name)
        }
        #expect(
            try names("https://www.example.com/", nil, acceptance) == ["own", "domain", "parent's own", "__Host-a"]
        )
        #expect(try names("http://www.example.com/", nil, acceptance) == ["own", "domain", "parent's own"])
        #expect(try names("http://com/", nil, acceptance).isEmpty)
        #expect(try names("ftp://www.example.com/", nil, acceptance).isEmpty)
        let never = CookieAcceptance(policy: .never, isPublicSuffix: Self.suffixes.contains)
        #expect(try names("https://www.example.com/", nil, never).isEmpty)
        let strict = CookieAcceptance(policy: .onlyFromMainDocumentDomain, isPublicSuffix: Self.suffixes.contains)
        #expect(try names("https://www.example.com/", "https://other.com/", strict).isEmpty)
    }

    @Test("A public suffix is no cookie's domain, but a host of that name may have cookies for itself")
    func publicSuffixes() throws {
        #expect(try Self.cookies("a=b; Domain=co.uk", from: "http://shop.co.uk/").isEmpty)
        #expect(try Self.cookies("a=b; Domain=github.io", from: "http://me.github.io/").isEmpty)
        #expect(try Self.cookies("a=b; Domain=shop.co.uk", from: "http://shop.co.uk/").first?.domain == ".shop.co.uk")
        #expect(try Self.cookies("a=b; Domain=github.io", from: "http://github.io/").first?.domain == "github.io")
        #expect(try Self.cookies("a=b; Domain=localhost", from: "http://localhost/").first?.domain == "localhost")
    }

    @Test(
        "A domain above the host's public suffix is refused as well, since others have names in it",
        arguments: [
            "evil.s3.amazonaws.com", "s3.amazonaws.com", "a.b.s3.amazonaws.com", "evil.x.kobe.amazonaws.com",
            "www.city.kobe.amazonaws.com",
        ]
    )
    func abovePublicSuffix(host: String) throws {
        let list = PublicSuffixList("com\ns3.amazonaws.com\n*.kobe.amazonaws.com\n!city.kobe.amazonaws.com\n")
        let acceptance = CookieAcceptance(policy: .always, isPublicSuffix: list.contains)
        func domain(_ domain: String, from host: String) throws -> String? {
            let url = try Sample.url("http://\(host)/")
            let fields = ["a=b; Domain=\(domain)"]
            return acceptance.cookies(from: fields, at: url, mainDocument: nil, now: Self.now).first?.domain
        }
        #expect(try domain("amazonaws.com", from: host) == nil)
        #expect(try domain(host, from: host) != nil)
        #expect(try domain("amazonaws.com", from: "www.amazonaws.com") == ".amazonaws.com")
        // An exception's hosts share its parent with those below other public suffixes.
        let exception = "city.kobe.amazonaws.com"
        #expect(try domain(exception, from: "www.\(exception)") == ".\(exception)")
        #expect(try domain("kobe.amazonaws.com", from: "www.\(exception)") == nil)
        #expect(try domain("kobe.amazonaws.com", from: exception) == nil)
    }

    @Test("A dot at its end makes no domain of a public suffix", arguments: ["com.", ".com.", "co.uk.", "uk."])
    func rootDot(domain: String) throws {
        #expect(try Self.cookies("a=b; Domain=\(domain)", from: "http://evil.com./").isEmpty)
        #expect(try Self.cookies("a=b; Domain=\(domain)", from: "http://evil.co.uk./").isEmpty)
        let guess = CookieAcceptance(policy: .always, isPublicSuffix: PublicSuffixList.isProbablySuffix)
        let url = try Sample.url("http://evil.co.uk./")
        #expect(guess.cookies(from: ["a=b; Domain=\(domain)"], at: url, mainDocument: nil, now: Self.now).isEmpty)
    }

    @Test("A host whose name ends in a dot has cookies of its own")
    func rootDotHost() throws {
        #expect(try Self.cookies("a=b", from: "http://example.com./").first?.domain == "example.com.")
    }

    @Test(
        "An internationalised domain is the same in either form",
        arguments: ["Bücher.example", "xn--bcher-kva.example"]
    )
    func internationalised(domain: String) throws {
        for host in ["www.xn--bcher-kva.example", "www.b%C3%BCcher.example"] {
            let cookies = try Self.cookies("a=b; Domain=\(domain)", from: "http://\(host)/")
            #expect(cookies.first?.domain == ".xn--bcher-kva.example")
        }
        let long = String(repeating: "ü", count: 511)
        #expect(try Self.cookies("a=b; Domain=\(long)", from: "http://www.example.com/").isEmpty)
    }

    @Test(
        "With a dot alone as its domain, a cookie is for the host only",
        arguments: ["www.example.com", "example.com."]
    )
    func dotAsDomain(host: String) throws {
        #expect(try Self.cookies("a=b; Domain=.", from: "http://\(host)/").map(\.domain) == [host])
    }

    @Test("An IP address is a domain of its own alone")
    func addresses() throws {
        #expect(try Self.cookies("a=b; Domain=127.0.0.1", from: "http://127.0.0.1/").first?.domain == "127.0.0.1")
        for host in ["127.0.0.1", "0x06.0.0.1", "0177.0.0.1"] {
            #expect(try Self.cookies("a=b; Domain=0.0.1", from: "http://\(host)/").isEmpty, "\(host)")
        }
        for (domain, host) in [
            ("127.0.0.1", "127.1"), ("127.1", "127.0.0.1"), ("127.1", "2130706433"), ("127.0.0.1.", "127.0.0.1"),
        ] {
            #expect(try Self.cookies("a=b; Domain=\(domain)", from: "http://\(host)/").map(\.domain) == ["127.0.0.1"])
        }
        for field in ["a=b", "a=b; Domain=::1", "a=b; Domain=[::1]", "a=b; Domain=[0:0::1]"] {
            #expect(try Self.cookies(field, from: "http://[::1]/").map(\.domain) == ["::1"], "\(field)")
        }
        #expect(try Self.cookies("a=b; Domain=[::2]", from: "http://[::1]/").isEmpty)
        #expect(try Self.cookies("a=b; Domain=[example.com]", from: "http://example.com/").isEmpty)
    }

    @Test("The policies decide")
    func policies() throws {
        #expect(try Self.cookies("a=b", policy: .never).isEmpty)
        let main = "http://www.other.org/"
        #expect(try Self.cookies("a=b", mainDocument: main, policy: .always).count == 1)
        #expect(try Self.cookies("a=b", mainDocument: main).isEmpty)
        #expect(try Self.cookies("a=b", mainDocument: "http://www.example.com/x").count == 1)
        #expect(try Self.cookies("a=b", mainDocument: "https://a.www.example.com/").count == 1)
        #expect(try Self.cookies("a=b", mainDocument: "http://badwww.example.com/").isEmpty)
    }

    @Test("Of more cookies than a domain may have, one response sets the last ones alone")
    func tooMany() throws {
        let fields = (1...200).map { "n\($0)=1" } + (1...200).map { "n\($0)=1; Domain=a.com; Path=/x" }
        let acceptance = CookieAcceptance(policy: .always) { _ in false }
        let url = try Sample.url("http://www.a.com/")
        let cookies = acceptance.cookies(from: fields, at: url, mainDocument: nil, now: Self.now)
        #expect(cookies.map(\.name) == (21...200).map { "n\($0)" })
        #expect(cookies.allSatisfy { $0.domain == ".a.com" })
    }

    @Test("However many domains a host belongs to, one response sets no more than one of them may have")
    func tooManyInAll() throws {
        let host = (1...20).map { "d\($0)" }.joined(separator: ".")
        let domains = (0..<20).map { host.split(separator: ".").dropFirst($0).joined(separator: ".") }
        let fields = domains.flatMap { domain in (1...170).map { "n\($0)=1; Domain=\(domain)" } }
        let acceptance = CookieAcceptance(policy: .always) { _ in false }
        let url = try Sample.url("http://\(host)/")
        let cookies = acceptance.cookies(from: fields, at: url, mainDocument: nil, now: Self.now)
        #expect(cookies.count == 180)
        #expect(cookies.last?.domain == ".d20")
        #expect(Set(cookies.map(\.domain)) == [".d19.d20", ".d20"])
    }

    @Test("Of a cookie that a response sets twice the last word counts, in the first one's place")
    func twice() throws {
        let cookies = try Self.cookies("a=1", "b=1", "a=2", "a=3; Path=/x")
        #expect(cookies.map { $0.name + $0.value } == ["a2", "b1", "a3"])
    }

    @Test("Only https sets secure cookies")
    func secureFromPlain() throws {
        #expect(try Self.cookies("a=b; Secure", from: "http://e.com/").isEmpty)
        #expect(try Self.cookies("a=b; Secure", from: "https://e.com/").count == 1)
    }

    static let prefixed: [(field: String, url: String, isKept: Bool)] = [
        ("__Secure-a=b; Secure", "https://e.com/", true), ("__Secure-a=b", "https://e.com/", false),
        ("__Secure-a=b; Secure", "http://e.com/", false), ("__Host-a=b; Secure; Path=/", "https://e.com/", true),
        ("__Host-a=b; Secure; Path=/; Domain=e.com", "https://e.com/", false),
        ("__Secure-\u{301}a=b", "https://e.com/", false), ("__Host-\u{301}=b; Secure", "https://e.com/", false),
        ("__host-a=b; Secure", "https://e.com/", false), ("__Hos-a=b", "http://e.com/", true),
    ]

    @Test("A name that promises how the cookie was set is kept to it", arguments: prefixed)
    func prefixes(_ example: (field: String, url: String, isKept: Bool)) throws {
        #expect(try Self.cookies(example.field, from: example.url).isEmpty == !example.isKept)
    }
}

@Suite("The public suffix list")
struct PublicSuffixListTests {
    private static let list = PublicSuffixList(
        """
        // comment
        com
        *.ck
        !www.ck
        *.kobe.jp
        !city.kobe.jp
        co.uk trailing words
        食狮.com.cn

        """
    )

    @Test("Rules, wildcards and exceptions are those of publicsuffix.org")
    func rules() {
        for suffix in ["com", "co.uk", "ck", "any.ck", "c.kobe.jp", "unknown"] {
            #expect(Self.list.contains(suffix), "\(suffix)")
        }
        for domain in ["example.com", "www.ck", "a.any.ck", "city.kobe.jp", "uk.co", "a.unknown"] {
            #expect(!Self.list.contains(domain), "\(domain)")
        }
    }

    @Test("Names beyond ASCII are compared as hosts spell them")
    func international() {
        #expect(Self.list.contains("xn--85x722f.com.cn"))
    }

    @Test("Without the list, countries' categories are known", arguments: ["com", "co.uk", "com.au", "ne.jp"])
    func fallback(suffix: String) {
        #expect(PublicSuffixList.isProbablySuffix(suffix))
        #expect(!PublicSuffixList.isProbablySuffix("example." + suffix))
    }

    @Test(
        "A site is the registered domain, whichever of its hosts is asked about",
        arguments: [
            ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("a.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"), ("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]"),
        ]
    )
    func site(host: String, site: String) {
        #expect(PublicSuffixList.site(of: host) == site)
    }

    @Test(
        "An exception is the site of its hosts",
        arguments: [
            ("www.www.ck", "www.ck"), ("a.www.city.kobe.jp", "city.kobe.jp"), ("city.kobe.jp", "city.kobe.jp"),
            ("a.b.c.kobe.jp", "b.c.kobe.jp"),
        ]
    )
    func exceptionSite(host: String, site: String) {
        #expect(PublicSuffixList.site(of: host, isSuffix: Self.list.contains) == site)
    }

    @Test("A file that isn't there is no list")
    func missing() {
        #expect(PublicSuffixList(contentsOf: URL(fileURLWithPath: "/nonexistent")) == nil)
    }
}
