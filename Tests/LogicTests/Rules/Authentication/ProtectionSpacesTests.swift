import Foundation
import Testing

@testable import CurlNetworking

@Suite("Protection spaces")
struct ProtectionSpacesTests {
    static let credential = Credential(user: "u", password: "p")
    static let other = Credential(user: "u", password: "q")

    static func origin(_ url: String = "http://example.com/") throws -> Origin {
        try #require(Origin(Sample.url(url)))
    }

    static func space(
        _ scheme: AuthenticationScheme = .basic,
        realm: String? = "r",
        party: AuthenticationParty = .server
    ) throws -> ProtectionSpace {
        try ProtectionSpace(party: party, origin: origin(), realm: realm.map { ExactText($0) }, scheme: scheme)
    }

    static func digest(_ nonce: String, domain: String = "") throws -> DigestChallenge {
        let value = #"Digest realm="r", nonce="\#(nonce)", domain="\#(domain)""#
        return try #require(AuthenticationField.challenges(in: [value]).first.flatMap(DigestChallenge.init))
    }

    static func finds(_ spaces: ProtectionSpaces, _ url: String) throws -> Bool {
        let url = try Sample.url(url)
        let origin = try #require(Origin(url))
        return spaces.space(for: url, of: Challenger(party: .server, origin: origin)) != nil
    }

    @Test("A credential is shown unasked only once it has proven good")
    func proof() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space()
        spaces.set(Self.credential, for: space, digest: nil)
        #expect(spaces[space]?.credential == Self.credential)
        #expect(try !Self.finds(spaces, "http://example.com/a"))
        spaces.noteAcceptance(of: Self.other, for: space, at: try Sample.url("http://example.com/a"))
        #expect(try !Self.finds(spaces, "http://example.com/a"), "another one's success proves nothing")
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/a"))
        #expect(try Self.finds(spaces, "http://example.com/a"))
        spaces.forget(Self.other, for: space)
        #expect(spaces[space] != nil)
        spaces.forget(Self.credential, for: space)
        #expect(spaces[space] == nil)
    }

    @Test("A credential isn't shown in another realm that only Swift takes for the same")
    func realms() throws {
        var spaces = ProtectionSpaces()
        let (composed, decomposed) = (try Self.space(realm: "\u{E9}"), try Self.space(realm: "e\u{301}"))
        spaces.set(Self.credential, for: composed, digest: nil)
        #expect(spaces[composed]?.credential == Self.credential)
        #expect(spaces[decomposed] == nil)
    }

    @Test("A nonce is renewed by another that only Swift takes for the same")
    func nonces() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space(.digest)
        spaces.set(Self.credential, for: space, digest: try Self.digest("\u{E9}"))
        spaces.renew(space, try Self.digest("e\u{301}"))
        #expect(spaces[space]?.digest?.nonce == "e\u{301}")
    }

    @Test("Credentials are the same only if their bytes are, whatever Swift takes for equal")
    func equivalence() {
        let composed = Credential(user: "u", password: "\u{E9}")
        #expect(composed == Credential(user: "u", password: "\u{E9}"))
        let decomposed = Credential(user: "u", password: "e\u{301}")
        #expect(composed != decomposed)
        #expect(Credential(user: "\u{E9}", password: "") != Credential(user: "e\u{301}", password: ""))
        #expect(Set([composed, decomposed, composed]).count == 2)
    }

    @Test("A credential that is to be stored is, once, when it has been accepted")
    func storing() throws {
        var spaces = ProtectionSpaces()
        let (space, url) = (try Self.space(), try Sample.url("http://example.com/a"))
        let object = URLCredential(user: "u", password: "p", persistence: .forSession)
        spaces.set(Self.credential, for: space, digest: nil, toBeStored: object)
        var stored = [spaces.noteAcceptance(of: Self.other, for: space, at: url)]
        for _ in 0..<2 { stored.append(spaces.noteAcceptance(of: Self.credential, for: space, at: url)) }
        spaces.set(Self.credential, for: space, digest: nil, toBeStored: object)
        stored.append(spaces.noteAcceptance(of: Self.credential, for: space, at: url))
        spaces.set(Self.other, for: space, digest: nil)
        stored.append(spaces.noteAcceptance(of: Self.other, for: space, at: url))
        #expect(stored == [nil, object, nil, object, nil])
    }

    @Test("A server that asks for another realm each time leaves no more than the latest ones")
    func manyRealms() throws {
        var spaces = ProtectionSpaces()
        let url = try Sample.url("http://example.com/")
        let most = ProtectionSpaces.maximumSpaces
        let first = try Self.space(realm: "first")
        spaces.set(Self.credential, for: first, digest: nil)
        for number in 0..<(10 * most) {
            let space = try Self.space(realm: "\(number)")
            spaces.set(Self.credential, for: space, digest: nil)
            spaces.noteAcceptance(of: Self.credential, for: space, at: url)
            spaces.noteAcceptance(of: Self.credential, for: first, at: url)
        }
        let kept = try (0..<(10 * most)).filter { try spaces[Self.space(realm: "\($0)")] != nil }
        #expect(kept == Array((9 * most + 1)..<(10 * most)))
        #expect(spaces[first] != nil, "what is in use stays")
    }

    @Test("Of a server with very many realms, the first ones' credentials are stored, each as often as it changes")
    func manyStored() throws {
        var spaces = ProtectionSpaces()
        let url = try Sample.url("http://example.com/")
        let object = URLCredential(user: "user", password: "password", persistence: .forSession)
        func store(_ credential: Credential, _ space: ProtectionSpace) -> Bool {
            spaces.set(credential, for: space, digest: nil, toBeStored: object)
            return spaces.noteAcceptance(of: credential, for: space, at: url) != nil
        }
        let most = ProtectionSpaces.maximumSpaces
        for number in 0..<(2 * most) {
            let isStored = try store(Self.credential, Self.space(realm: "\(number)"))
            #expect(isStored == (number < most))
        }
        let isStoredAgain = try store(Credential(user: "user", password: "new"), Self.space(realm: "0"))
        #expect(isStoredAgain)
    }

    @Test("Of spaces that reach equally far, the one that was accepted last counts")
    func latest() throws {
        var spaces = ProtectionSpaces()
        let url = try Sample.url("http://example.com/a")
        let realms = (0..<20).map { "\($0)" } + ["3", "17", "3"]
        for realm in realms {
            let space = try Self.space(realm: realm)
            spaces.set(Self.credential, for: space, digest: nil)
            spaces.noteAcceptance(of: Self.credential, for: space, at: url)
            #expect(spaces.space(for: url, of: space.challenger) == space)
        }
    }

    @Test("A credential that a proxy has accepted is for hosts with the same one set; a delegate sees no difference")
    func configured() throws {
        var spaces = ProtectionSpaces()
        let url = try Sample.url("http://example.com/")
        var space = try Self.space(party: .proxy)
        space.configured = Self.credential
        spaces.set(Self.credential, for: space, digest: nil)
        spaces.noteAcceptance(of: Self.credential, for: space, at: url)
        #expect(spaces.space(for: url, of: space.challenger) == space)
        var other = space
        for configured in [Self.other, nil] {
            other.configured = configured
            #expect(spaces[other] == nil)
            #expect(spaces.space(for: url, of: other.challenger) == nil)
            #expect(other.forDelegate.hasSameValues(as: space.forDelegate))
        }
    }

    @Test("Of more origins than any program has, none is kept")
    func manyOrigins() throws {
        var spaces = ProtectionSpaces()
        let first = try Self.space()
        spaces.set(Self.credential, for: first, digest: nil)
        for number in 1...ProtectionSpaces.maximumOrigins {
            let origin = first.origin.at("h\(number)", port: 80)
            let space = ProtectionSpace(party: .server, origin: origin, realm: "r", scheme: .basic)
            spaces.set(Self.credential, for: space, digest: nil)
            #expect(spaces[space] != nil)
        }
        #expect(spaces[first] == nil)
    }

    @Test("Basic reaches what is at or below the last slash (RFC 7617 §2.2), and the directories of further successes")
    func basicPaths() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space()
        spaces.set(Self.credential, for: space, digest: nil)
        spaces.noteAcceptance(
            of: Self.credential,
            for: space,
            at: try Sample.url("http://example.com/docs/index.html?q=/x/")
        )
        for path in ["/docs/", "/docs/test.doc", "/docs/a/b?page=1"] {
            #expect(try Self.finds(spaces, "http://example.com\(path)"), "\(path)")
        }
        for url in [
            "http://example.com/", "http://example.com/docs", "http://example.com/docsx/",
            "https://example.com/docs/", "http://example.com:8080/docs/", "http://www.example.com/docs/",
        ] {
            #expect(try !Self.finds(spaces, url), "\(url)")
        }
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/img/a.png"))
        #expect(try Self.finds(spaces, "http://example.com/img/b.png"))
        #expect(try Self.finds(spaces, "http://example.com/docs/"))
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com"))
        #expect(try Self.finds(spaces, "http://example.com/anywhere"))
    }

    static let waysOut = [
        "..", "../", "../../pub", "a/../../pub", "%2e%2e/pub", "%2E%2e", ".%2E/pub", "..%2fpub", "..%5Cpub", "..;/pub",
        "..%3B/pub",
    ]

    @Test("Basic doesn't reach what a path may lead to by going up, however that is written", arguments: waysOut)
    func pathsUpwards(rest: String) throws {
        let url = "http://example.com/bas/in/"
        var spaces = ProtectionSpaces()
        let space = try Self.space()
        spaces.set(Self.credential, for: space, digest: nil)
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url(url + "file"))
        #expect(try !Self.finds(spaces, url + rest))
        for path in ["...", "..a/b", "a..", ".", "./a", "%2e%2e%2e", "a?../x"] {
            #expect(try Self.finds(spaces, url + path), "\(path)")
        }
        spaces.forget(Self.credential, for: space)
        spaces.set(Self.credential, for: space, digest: nil)
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url(url + rest))
        for path in ["bas/in/" + rest, "bas/in/file", "bas/in/..file", "pub"] {
            #expect(try !Self.finds(spaces, "http://example.com/" + path), "what was accepted there reaches nothing")
        }
    }

    @Test("A task sends its own credential again only to paths at or below the one that has asked for it")
    func extent() throws {
        func extends(from own: String, to url: String) throws -> Bool {
            let use = Authentication.Use(
                space: try Self.space(),
                credential: Self.credential,
                isShared: false,
                url: try Sample.url("http://example.com" + own)
            )
            return use.extends(to: try Sample.url("http://example.com" + url))
        }
        #expect(try extends(from: "/in/file", to: "/in/other"))
        #expect(try !extends(from: "/in/file", to: "/in/../pub"))
        #expect(try !extends(from: "/in/file", to: "/in/%2e%2e/pub"))
        #expect(try extends(from: "/in/../pub", to: "/in/../pub?again"))
        #expect(try !extends(from: "/in/../pub", to: "/in/../other"))
    }

    @Test("However many directories there are, what is kept is bounded")
    func manyPaths() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space()
        spaces.set(Self.credential, for: space, digest: nil)
        for number in 0..<200 {
            spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/\(number)/x"))
        }
        #expect((spaces[space]?.prefixes.count ?? 0) <= 64)
        #expect(try Self.finds(spaces, "http://example.com/150/y"))
    }

    @Test("Of nested spaces the inner one counts")
    func nested() throws {
        var spaces = ProtectionSpaces()
        let (outer, inner) = (try Self.space(realm: "outer"), try Self.space(realm: "inner"))
        for (space, path) in [(outer, "/"), (inner, "/a/b/")] {
            spaces.set(Self.credential, for: space, digest: nil)
            spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com\(path)"))
        }
        func found(_ path: String) throws -> ExactText? {
            try spaces.space(for: Sample.url("http://example.com\(path)"), of: outer.challenger)?.realm
        }
        #expect(try found("/a/b/c") == "inner")
        #expect(try found("/a/c") == "outer")
    }

    @Test("Digest reaches the whole server, or what its domain names of it")
    func digestDomain() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space(.digest)
        spaces.set(Self.credential, for: space, digest: try Self.digest("n"))
        spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/a/b"))
        #expect(try Self.finds(spaces, "http://example.com/elsewhere"))
        var limited = ProtectionSpaces()
        let domain = "/in http://example.com/also http://evil.example/"
        limited.set(Self.credential, for: space, digest: try Self.digest("n", domain: domain))
        limited.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/x"))
        #expect(try Self.finds(limited, "http://example.com/in/a"))
        #expect(try Self.finds(limited, "http://example.com/also"))
        #expect(try !Self.finds(limited, "http://example.com/x"))
        #expect(try !Self.finds(limited, "http://example.com/in/../x"))
        #expect(try !Self.finds(limited, "http://evil.example/"), "a server can't name another")
    }

    @Test("A domain with very many URIs is the whole server, at once and later")
    func longDomain() throws {
        func prefixes(_ count: Int) throws -> [String]? {
            var spaces = ProtectionSpaces()
            let space = try Self.space(.digest)
            let domain = (0..<count).map { "/\($0)/" }.joined(separator: " ")
            spaces.set(Self.credential, for: space, digest: try Self.digest("n", domain: domain))
            for _ in 1...2 {
                spaces.noteAcceptance(of: Self.credential, for: space, at: try Sample.url("http://example.com/x"))
            }
            return spaces[space]?.prefixes
        }
        let most = DigestChallenge.longestDomain
        #expect(try prefixes(most) == (0..<most).map { "/\($0)/" })
        #expect(try prefixes(most + 1) == [])
        #expect(try prefixes(20_000) == [])
    }

    @Test("A nonce is counted from one, and a new one anew")
    func counting() throws {
        var spaces = ProtectionSpaces()
        let space = try Self.space(.digest)
        spaces.set(Self.credential, for: space, digest: try Self.digest("a"))
        #expect((1...3).map { _ in spaces.countDigest(space) } == [1, 2, 3])
        spaces.set(Self.credential, for: space, digest: try Self.digest("b"))
        #expect(spaces[space]?.digest?.nonce == "a", "the same credential goes on with the nonce it has")
        spaces.renew(space, try Self.digest("a"))
        #expect(spaces.countDigest(space) == 4)
        spaces.renew(space, try Self.digest("b"))
        #expect(spaces.countDigest(space) == 1)
        spaces.set(Self.other, for: space, digest: try Self.digest("c"))
        #expect(spaces[space]?.digest?.nonce == "c")
        #expect(spaces.countDigest(space) == 1)
    }

    @Test("The delegate sees a space with its host, port, protocol, realm and method")
    func views() throws {
        let server = try Self.space(.ntlm, realm: nil).forDelegate
        #expect(
            server.host == "example.com" && server.port == 80 && server.protocol == "http"
                && server.realm == "example.com"
        )
        #expect(server.authenticationMethod == NSURLAuthenticationMethodNTLM && !server.isProxy())
        let proxy = try Self.space(party: .proxy).forDelegate
        #expect(proxy.isProxy() && proxy.proxyType == NSURLProtectionSpaceHTTPProxy && proxy.protocol == nil)
        let tunnel = try Self.space(party: .proxy).forDelegate(inTunnel: true)
        #expect(tunnel.isProxy() && tunnel.proxyType == NSURLProtectionSpaceHTTPSProxy)
    }
}

@Suite("The storage's spaces")
struct CredentialStorageMatchingTests {
    static func space(
        _ proto: String?,
        port: Int = 80,
        realm: String? = "r",
        method: String? = NSURLAuthenticationMethodHTTPBasic
    ) -> URLProtectionSpace {
        URLProtectionSpace(host: "Example.com", port: port, protocol: proto, realm: realm, authenticationMethod: method)
    }

    @Test("A credential stored without a realm is the same as one under the host as its realm")
    func withoutRealm() {
        for (stored, asked) in [(nil, "example.com"), ("example.com", nil), (nil, nil)] as [(String?, String?)] {
            let storage = URLCredentialStorage()
            let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
            storage.set(credential, for: Self.space("http", realm: stored))
            #expect(storage.matchingDefault(for: Self.space("http", realm: asked)) == credential)
        }
    }

    @Test("A stored space is found by what it says")
    func matching() throws {
        let storage = URLCredentialStorage()
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        storage.set(credential, for: Self.space(NSURLProtectionSpaceHTTP))
        let asked = URLProtectionSpace(
            host: "example.com",
            port: 80,
            protocol: "http",
            realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic
        )
        #expect(storage.matchingDefault(for: asked) == credential)
        #expect(storage.matchingDefault(for: Self.space("http", method: nil)) == credential)
        for other in [
            Self.space("https"), Self.space("http", port: 81), Self.space("http", realm: nil),
            Self.space("http", method: NSURLAuthenticationMethodHTTPDigest),
            URLProtectionSpace(
                proxyHost: "example.com",
                port: 80,
                type: nil,
                realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            ),
        ] {
            #expect(storage.matchingDefault(for: other) == nil, "\(other)")
        }
    }

    @Test("A stored space isn't found for a realm that only Swift takes for the same")
    func equivalence() {
        #expect(!Self.space("http", realm: "\u{E9}").hasSameValues(as: Self.space("http", realm: "e\u{301}")))
        #expect(Self.space("http", realm: "\u{E9}").hasSameValues(as: Self.space("http", realm: "\u{E9}")))
    }

    @Test("Port 0 stands for the protocol's own, and for that of a proxy's kind")
    func defaultPort() {
        let ports = ["http": 80, "https": 443, NSURLProtectionSpaceHTTPS: 443, "ftp": 21]
        for (name, port) in ports {
            #expect(Self.space(name, port: 0).hasSameValues(as: Self.space(name, port: port)))
            #expect(!Self.space(name, port: 0).hasSameValues(as: Self.space(name, port: 8080)))
        }
        func proxy(_ type: String, _ port: Int) -> URLProtectionSpace {
            URLProtectionSpace(proxyHost: "a", port: port, type: type, realm: "r", authenticationMethod: nil)
        }
        #expect(proxy(NSURLProtectionSpaceHTTPProxy, 0).hasSameValues(as: proxy(NSURLProtectionSpaceHTTPProxy, 80)))
        #expect(proxy(NSURLProtectionSpaceHTTPSProxy, 0).hasSameValues(as: proxy(NSURLProtectionSpaceHTTPSProxy, 443)))
        #expect(!proxy(NSURLProtectionSpaceHTTPProxy, 0).hasSameValues(as: proxy(NSURLProtectionSpaceHTTPProxy, 3128)))
    }

    @Test("Storing twice for what says the same leaves one space")
    func storing() {
        let storage = URLCredentialStorage()
        for password in ["a", "b"] {
            let credential = URLCredential(user: "u", password: password, persistence: .permanent)
            storage.store(credential, for: Self.space("http"))
        }
        #expect(storage.allCredentials.count == 1)
        #expect(storage.allCredentials.first?.value["u"]?.password == "b")
    }

    @Test("Emptied, the storage has no default credential with an old password either")
    func emptied() throws {
        let configuration = URLSessionConfiguration.ephemeral
        let (storage, space) = (try #require(configuration.urlCredentialStorage), Self.space("http"))
        for password in ["old", "new"] {
            storage.set(URLCredential(user: "u", password: password, persistence: .forSession), for: space)
        }
        #expect(storage.defaultCredential(for: space)?.password == "old")
        configuration.emptyStorages()
        #expect(storage.allCredentials.isEmpty)
        #expect(storage.defaultCredential(for: space) == nil)
    }
}
