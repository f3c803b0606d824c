import Foundation
import Testing

@testable import CurlNetworking

@Suite("Names of other alphabets")
struct OriginFormsTests {
    @Test(
        "A name of another alphabet is the same origin in every spelling",
        arguments: ["bücher.example", "b%C3%BCcher.example", "BÜCHER.example"]
    )
    func spelling(host: String) throws {
        let url = try #require(URL(string: "http://\(host)/"))
        let encoded = try #require(URL(string: "http://xn--bcher-kva.example/"))
        #expect(Origin(url) == Origin(encoded))
    }

    @Test(
        "An address is the same origin in every spelling",
        arguments: [
            ("127.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("%31%32%37.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"), ("[2001:DB8::0A]", "[2001:db8::a]"),
        ]
    )
    func addresses(host: String, usual: String) throws {
        #expect(try Origin(Sample.url("http://\(host):81/")) == Origin(Sample.url("http://\(usual):81/")))
        #expect(try Origin.ofFTP(Sample.url("ftp://\(host)/")) == Origin.ofFTP(Sample.url("ftp://\(usual)/")))
        let decoded = try #require(host.removingPercentEncoding)
        #expect(Origin.ofStream(host: decoded, port: 7) == Origin.ofStream(host: usual, port: 7))
    }

    @Test(
        "Brackets are for IPv6 addresses only (RFC 3986 §3.2.2)",
        arguments: [
            "[localhost]", "[127.0.0.1]", "[zz]", "[v1.a]", "[v1.a:b]", "[LOCALHOST]", "u:p@[localhost]", "@[a]",
        ]
    )
    func brackets(host: String) throws {
        for scheme in ["http", "https", "ftp"] {
            for port in ["", ":81"] {
                let url = try Sample.url("\(scheme)://\(host)\(port)/[x]")
                #expect { try Origin.of(URLRequest(url: url)) } throws: { ($0 as? URLError)?.code == .badURL }
            }
        }
        #expect(Origin.ofStream(host: host, port: 7) == nil)
        #expect(HostPattern(host) == nil)
    }

    @Test("A zone makes another origin, and is sent to no server")
    func zones() throws {
        let origin = try #require(Origin(Sample.url("http://[FE80::1%25eth0]:81/")))
        #expect(try origin != Origin(Sample.url("http://[fe80::1%25eth1]:81/")))
        #expect(origin.authority == "[fe80::1%25eth0]:81")
        #expect(origin.hostField == "[fe80::1]:81")
        #expect(origin.hostWithoutZone == "fe80::1")
    }

    @Test(
        "A percent-encoded host that isn't one without the encoding is refused",
        arguments: ["a%2Fb", "a%40b", "a%3A80", "a%20b", "a%00b", "%FF", "localhost%EF%BC%8Fx"]
    )
    func refused(host: String) throws {
        for scheme in ["http", "https", "ftp"] {
            let url = try Sample.url("\(scheme)://\(host)/")
            #expect { try Origin.of(URLRequest(url: url)) } throws: { ($0 as? URLError)?.code == .badURL }
        }
    }
}
