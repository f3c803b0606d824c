import Testing

@testable import CurlTransport

@Suite("What a server's certificate must be for")
struct CertificateNameTests {
    @Test(
        "A certificate must have the host's name, without the dot at the end of an absolute one",
        arguments: ["example.com", "example.com."]
    )
    func name(host: String) {
        let name = CertificateName(host: host)
        #expect(name.text == "example.com")
        #expect(!name.isAddress)
        #expect(name.mismatch == X509Result.hostnameMismatch)
    }

    @Test("A certificate for an address must have that address", arguments: ["192.0.2.1", "2001:db8::1", "192.0.2.1."])
    func address(host: String) {
        let name = CertificateName(host: host)
        #expect(name.text == (host.hasSuffix(".") ? String(host.dropLast()) : host))
        #expect(name.isAddress)
        #expect(name.mismatch == X509Result.addressMismatch)
    }

    @Test(
        "A wildcard covers a host that is below two labels or more, and no address",
        arguments: [
            ("a.example.com", "*.example.com"), ("a_b.example.com.", "*.example.com"),
            ("a.b.example.com", "*.b.example.com"), ("example.com", nil), ("localhost", nil), ("192.0.2.1", nil),
            ("2001:db8::1", nil),
        ]
    )
    func wildcard(host: String, wildcard: String?) {
        #expect(CertificateName(host: host).wildcard == wildcard)
    }

    @Test(
        "A text is an address as a whole and in its usual form, or it is none",
        arguments: [
            ("127.0.0.1", true), ("::1", true), ("::ffff:192.0.2.1", true), ("127.1", false), ("[::1]", false),
            ("fe80::1%eth0", false), ("127.0.0.1\0", false), ("127.0.0.1\0.example.com", false), ("", false),
            ("example.com", false), (" 127.0.0.1", false), ("127.0.0.1.", false),
        ]
    )
    func numericAddress(text: String, isAddress: Bool) {
        #expect(text.isNumericAddress == isAddress)
    }
}
