import Testing

@testable import CurlNetworking

@Suite("The one spelling of a host")
struct HostSpellingTests {
    @Test(
        "An IPv4 address has its usual form, whatever the resolver and libcurl would read as it",
        arguments: [
            "127.0.0.1", "127.0.0.1.", "127.1", "127.1.", "127.0.1", "2130706433", "0x7f.1", "0X7F000001", "0177.0.0.1",
            "017700000001", "\u{ff11}\u{ff12}\u{ff17}\u{3002}1",
        ]
    )
    func ipv4(host: String) {
        #expect(HostSpelling.canonical(host) == "127.0.0.1")
    }

    @Test(
        "An IPv6 address has its shortest form, and keeps its zone",
        arguments: [
            ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8:0::00A", "2001:db8::a"), ("::FFFF:7F00:1", "::ffff:127.0.0.1"),
            ("FE80:0::1%Eth0.1", "fe80::1%Eth0.1"),
        ]
    )
    func ipv6(host: String, expected: String) {
        #expect(HostSpelling.canonical(host) == expected)
    }

    @Test(
        "A name is in lower case and ASCII, mapped as by browsers",
        arguments: [
            ("EXAMPLE.com", "example.com"), ("Example.com.", "example.com."), ("a_b~c", "a_b~c"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"), ("BU\u{308}CHER.example", "xn--bcher-kva.example"),
            ("fa\u{df}.example", "xn--fa-hia.example"), ("\u{ff4c}ocalhost", "localhost"),
            ("a\u{3002}localhost", "a.localhost"), ("local\u{ad}host", "localhost"), ("\u{212a}.example", "k.example"),
        ]
    )
    func names(host: String, expected: String) {
        #expect(HostSpelling.canonical(host) == expected)
    }

    @Test(
        "Names stay names, even if they begin like numbers",
        arguments: ["1.example", "163.com", "360.cc", "1.2.3.4.5", "256.256.256.256", "999999999999", "08.1", "0xg"]
    )
    func almostNumbers(host: String) {
        #expect(HostSpelling.canonical(host) == host)
    }

    @Test(
        "A text that is neither a name nor an address has no usual form",
        arguments: [
            "", "a b", "a/b", "a?b", "a#b", "a@b", "a:80", "a\\b", "a%62", "a\u{0}b", "a\nb", "a,b", "a+b", "[a]",
            "v1.a:b",
            "::1%", "::1%a]b", "::1%a/b", "::1%0123456789abcdef", "1::2::3", "a\u{ff0f}b", "a\u{200d}b", "\u{e9}<",
            "\u{3002}",
        ]
    )
    func none(host: String) {
        #expect(HostSpelling.canonical(host) == nil)
    }
}
