import CurlTransport
import Testing

@testable import CurlNetworking

@Suite("What a challenge offers")
struct AuthenticationOfferTests {
    static func offers(_ values: String..., name: String = "WWW-Authenticate") -> [AuthenticationOffer] {
        var head = Sample.head(401)
        head.fields = HeaderFields(values.map { HeaderField(name: name, value: $0) })
        return AuthenticationOffer.offers(in: head, by: name.hasPrefix("Proxy") ? .proxy : .server)
    }

    @Test("The strongest scheme comes first, whatever the server's order")
    func order() {
        let offers = Self.offers(
            #"Basic realm="b""#,
            #"Digest realm="d", nonce="n", NTLM, Negotiate, Basic realm="b", Bearer"#
        )
        let expected: [AuthenticationScheme] = [.negotiate, .digest, .ntlm, .basic].filter { scheme in
            switch scheme {
            case .negotiate: CurlLibrary.hasNegotiate
            case .ntlm: CurlLibrary.hasNTLM
            case .digest, .basic: true
            }
        }
        #expect(offers.map(\.scheme) == expected)
        #expect(offers.last?.realm == "b")
    }

    @Test("Schemes and fields are found in any case")
    func anyCase() {
        #expect(Self.offers("bASIC realm=x", name: "www-authenticate").map(\.scheme) == [.basic])
    }

    @Test("A Digest that can't be answered is no offer, and of several the better hash counts")
    func digests() {
        let offers = Self.offers(
            #"Digest realm="r", nonce="a", algorithm=SHA-512"#,
            #"Digest realm="r", nonce="b", algorithm=MD5"#,
            #"Digest realm="r", nonce="c", algorithm=SHA-256"#
        )
        #expect(offers.map(\.digest?.nonce) == ["c"])
        #expect(Self.offers(#"Digest realm="r", nonce="a", algorithm=SHA-512"#).isEmpty)
    }

    @Test("Each realm of Basic and Digest comes once, in the server's order, and at most eight do")
    func realms() {
        let offers = Self.offers(
            #"Basic realm="a", Basic realm="b", Basic realm="a", Basic"#,
            #"Digest realm="x", nonce="1", Digest realm="y", nonce="2", algorithm=SHA-256"#,
            #"Digest realm="x", nonce="3", algorithm=SHA-256, Digest realm="z", nonce="4""#
        )
        #expect(offers.compactMap(\.digest?.nonce) == ["2", "3", "4"])
        #expect(offers.filter { $0.scheme == .basic }.map(\.realm) == ["a", "b", nil])
        let many = Self.offers((0..<100).map { "Basic realm=r\($0)" }.joined(separator: ", "))
        #expect(many.map(\.realm) == (0..<8).map { ExactText("r\($0)") })
    }

    @Test("Realms are the same only if their bytes are, whatever Swift takes for equal")
    func equivalence() {
        let offers = Self.offers("Basic realm=\"\u{E9}\", Basic realm=\"e\u{301}\", Basic realm=\"\u{E9}\"")
        #expect(offers.map(\.realm) == ["\u{E9}", "e\u{301}"])
    }

    @Test("A proxy's offers are in its own field, and are those that a request can answer")
    func proxies() {
        let offers = Self.offers("Negotiate, NTLM, Basic realm=x", name: "Proxy-Authenticate").map(\.scheme)
        #expect(offers == (CurlLibrary.hasNTLM ? [.ntlm, .basic] : [.basic]))
        var head = Sample.head(407)
        head.fields = [HeaderField(name: "WWW-Authenticate", value: "Basic realm=x")]
        #expect(AuthenticationOffer.offers(in: head, by: .proxy).isEmpty)
    }

    @Test("A step of libcurl's conversation carries a token, and its end doesn't")
    func handshakes() {
        let step = Sample.head(401, ["WWW-Authenticate": "NTLM TlRMTVNTUAACAAAA"])
        #expect(AuthenticationOffer.isHandshake(step, of: [.server: .ntlm], mayBegin: false))
        #expect(!AuthenticationOffer.isHandshake(step, of: [.server: .negotiate], mayBegin: false))
        #expect(!AuthenticationOffer.isHandshake(step, of: [.proxy: .ntlm], mayBegin: false))
        let end = Sample.head(401, ["WWW-Authenticate": "NTLM"])
        #expect(!AuthenticationOffer.isHandshake(end, of: [.server: .ntlm], mayBegin: false))
        #expect(AuthenticationOffer.isHandshake(end, of: [.server: .ntlm], mayBegin: true))
        #expect(!AuthenticationOffer.isHandshake(end, of: [.server: .negotiate], mayBegin: true))
        let success = Sample.head(200, ["WWW-Authenticate": "NTLM abcd"])
        #expect(!AuthenticationOffer.isHandshake(success, of: [.server: .ntlm], mayBegin: false))
        let basic = Sample.head(401, ["WWW-Authenticate": "Basic abcd"])
        #expect(!AuthenticationOffer.isHandshake(basic, of: [.server: .basic], mayBegin: false))
        let proxy = Sample.head(407, ["Proxy-Authenticate": "NTLM TlRMTVNTUAACAAAA"])
        #expect(AuthenticationOffer.isHandshake(proxy, of: [.proxy: .ntlm], mayBegin: false))
    }
}
