import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which hosts have no proxy")
struct ProxyExceptionsTests {
    private static func matches(_ pattern: String, _ host: String, includingSubdomains: Bool = true) throws -> Bool {
        let origin = try #require(Origin(Sample.url("http://\(host)/")))
        return ProxyExceptions([pattern], namesIncludeSubdomains: includingSubdomains).contain(origin)
    }

    @Test(
        "Names stand for all below them, at borders of labels",
        arguments: ["example.com", ".example.com", "EXAMPLE.com", "example.com."]
    )
    func domains(pattern: String) throws {
        for host in ["example.com", "www.example.com", "a.b.Example.COM", "example.com."] {
            #expect(try Self.matches(pattern, host), "\(host)")
        }
        for host in ["badexample.com", "example.org", "example.com.org", "com"] {
            #expect(try !Self.matches(pattern, host), "\(host)")
        }
    }

    @Test("In Apple's dictionary a name stands for itself alone")
    func exactNames() throws {
        #expect(try Self.matches("example.com", "example.com", includingSubdomains: false))
        #expect(try !Self.matches("example.com", "www.example.com", includingSubdomains: false))
        #expect(try Self.matches(".example.com", "www.example.com", includingSubdomains: false))
        #expect(try !Self.matches(".example.com", "example.com", includingSubdomains: false))
    }

    @Test(
        "An address without a dot is no simple name",
        arguments: ["2130706433", "0x7f000001", "017700000001", "[::1]"]
    )
    func numbers(host: String) throws {
        #expect(try !Self.matches("<local>", host))
        let exceptions = ProxyExceptions(excludesSimpleHostnames: true)
        #expect(try !exceptions.contain(#require(Origin(Sample.url("http://\(host)/")))))
        #expect(try exceptions.contain(#require(Origin(Sample.url("http://intranet/")))))
    }

    @Test("An address is one in every spelling, in the list as in the URL")
    func spellings() throws {
        for spelling in ["127.0.0.1", "127.1", "0x7f.1", "2130706433"] {
            #expect(try Self.matches(spelling, "127.0.0.1") && Self.matches("127.0.0.1", spelling), "\(spelling)")
            #expect(try Self.matches(spelling + ":81", "127.1:81") && !Self.matches(spelling + ":81", "127.1"))
            #expect(try Self.matches("127/8", spelling) && !Self.matches("10/8", spelling), "\(spelling)")
        }
    }

    @Test("A star matches any text; at the beginning of a name, only the hosts below it")
    func stars() throws {
        #expect(try Self.matches("*", "example.com") && Self.matches("*", "[::1]"))
        #expect(try Self.matches("*.example.com", "www.example.com"))
        #expect(try !Self.matches("*.example.com", "example.com"))
        #expect(try Self.matches("build-*.example.com", "build-7.example.com"))
        #expect(try Self.matches("192.168.*", "192.168.7.1"))
        #expect(try !Self.matches("192.168.*", "192.169.7.1"))
    }

    @Test(
        "An address matches itself in every spelling, and a range the addresses within it",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10/8", "10.1.2.3", true),
            ("169.254/16", "169.254.9.9", true), ("169.254/16", "169.253.9.9", false),
            ("192.168.4.0/22", "192.168.7.255", true), ("192.168.4.0/22", "192.168.8.0", false),
            ("0.0.0.0/0", "8.8.8.8", true), ("192.0.2.1/32", "192.0.2.1", true), ("192.0.2.1/32", "192.0.2.2", false),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.10", false),
            ("2001:db8::/32", "[2001:db8:1::1]", true), ("2001:db8::/32", "[2001:db9::1]", false),
            ("[2001:db8::]/33", "[2001:db8:7fff::1]", true), ("2001:db8::/33", "[2001:db8:8000::1]", false),
            ("::1", "[::1]", true), ("[::1]", "[0:0::1]", true), ("::1/128", "[::2]", false),
            ("::/0", "[2001:db8::1]", true),
            ("10.0.0.0/8", "[::ffff:10.1.1.1]", true), ("::/0", "10.0.0.1", false),
            ("10.0.0.0/8", "ten.example.com", false),
        ]
    )
    func addresses(pattern: String, host: String, isException: Bool) throws {
        #expect(try Self.matches(pattern, host) == isException)
    }

    @Test(
        "An address is below no domain, whatever its zone is called",
        arguments: ["example.com", ".example.com", "*.example.com", "*example.com", "<local>"]
    )
    func zones(pattern: String) throws {
        for zone in ["x.example.com", "x.example.com.", "example.com", "eth0"] {
            #expect(try !Self.matches(pattern, "[fe80::1%25\(zone)]"), "\(zone)")
        }
    }

    @Test("An address is an exception in any zone")
    func anyZone() throws {
        for pattern in ["fe80::1", "[fe80::1]:80", "fe80::/10", "*"] {
            #expect(try Self.matches(pattern, "[fe80::1%25eth0]"), "\(pattern)")
        }
    }

    @Test("An exception with a port is for that port alone")
    func ports() throws {
        #expect(try Self.matches("example.com:8080", "example.com:8080"))
        #expect(try Self.matches("example.com:80", "example.com"))
        #expect(try !Self.matches("example.com:8080", "example.com"))
        #expect(try Self.matches("10.0.0.1:81", "10.0.0.1:81") && !Self.matches("10.0.0.1:81", "10.0.0.1"))
        #expect(try Self.matches("[::1]:81", "[::1]:81") && !Self.matches("[::1]:81", "[::1]:82"))
    }

    @Test("Names without a dot are exceptions if the dictionary says so")
    func simpleNames() throws {
        let exceptions = ProxyExceptions([], excludesSimpleHostnames: true)
        for (host, isException) in [
            ("intranet", true), ("intranet.example.com", false), ("[::1]", false), ("10.0.0.1", false),
        ] {
            let origin = try #require(Origin(Sample.url("http://\(host)/")))
            #expect(exceptions.contain(origin) == isException, "\(host)")
        }
        #expect(try Self.matches("<local>", "intranet"))
    }

    @Test("Names of other alphabets match in either form")
    func otherAlphabets() throws {
        for pattern in ["müller.example", "xn--mller-kva.example"] {
            for host in ["müller.example", "xn--mller-kva.example", "www.müller.example"] {
                #expect(try Self.matches(pattern, host), "\(pattern) \(host)")
            }
            for star in ["*.", "w*."] {
                #expect(try Self.matches(star + pattern, "www.müller.example"), "\(star)\(pattern)")
            }
            #expect(try !Self.matches("*." + pattern, "müller.example"))
        }
    }

    @Test(
        "Nonsense is no rule",
        arguments: [
            "", ".", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/", "/8", "::/129", "1.2.3.4.5/8", "example.com/24", "a b",
            "example.com:0", "example.com:70000", "::1:xyz", "user@example.com", "10.0.0.0/-1", "10.0.0.0/8/8",
            "1.2.3.4/+8", "example..com", "a.example,b.example",
        ]
    )
    func nonsense(text: String) {
        #expect(ProxyExceptions.Rule(text, namesIncludeSubdomains: true) == nil)
    }
}
