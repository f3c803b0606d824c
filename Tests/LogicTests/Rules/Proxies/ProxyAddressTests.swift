import Foundation
import Testing

@testable import CurlNetworking

@Suite("A proxy as text")
struct ProxyAddressTests {
    typealias Server = CurlOptions.ProxyServer

    @Test(
        "A proxy's address is read as libcurl reads it",
        arguments: [
            ("proxy", "http://proxy:1080"), ("proxy:3128", "http://proxy:3128"),
            ("http://proxy:8080/", "http://proxy:8080"),
            ("HTTP://proxy", "http://proxy:1080"), ("https://proxy", "https://proxy:443"),
            ("http://proxy:", "http://proxy:1080"),
            ("socks://proxy", "socks4://proxy:1080"), ("socks4a://proxy:1", "socks4a://proxy:1"),
            ("socks5://proxy", "socks5://proxy:1080"), ("socks5h://proxy", "socks5h://proxy:1080"),
            ("http://[::1]:3128", "http://[::1]:3128"), ("[2001:db8::1]", "http://[2001:db8::1]:1080"),
            ("http://user:pass@proxy:1", "http://proxy:1"), ("http://proxy:1/path?query#fragment", "http://proxy:1"),
        ]
    )
    func reading(text: String, url: String) throws {
        #expect(try ProxyAddress.server(text).description == url)
        #expect(Server(text)?.description == url)
    }

    @Test("A proxy's user name and password are percent-decoded, and split at the first colon")
    func credentials() throws {
        let server = try ProxyAddress.server("http://us%3Aer:p%40ss:w%2Ford@proxy:3128")
        #expect(server.user == "us:er" && server.password == "p@ss:w/ord")
        #expect(try ProxyAddress.server("http://user@proxy").credential == Credential(user: "user", password: ""))
        #expect(try ProxyAddress.server("http://a@b:c@proxy").credential == Credential(user: "a@b", password: "c"))
        // To Swift, what separates them and the accents are one character.
        let accented = try ProxyAddress.server("http://\u{301}a:\u{301}b@proxy").credential
        #expect(accented == Credential(user: "\u{301}a", password: "\u{301}b"))
        #expect(try ProxyAddress.server("http://@proxy").credential == nil)
        #expect(try ProxyAddress.server("http://proxy").credential == nil)
    }

    @Test("What is wrong with a proxy's address is said without its password, whatever follows that")
    func faults() {
        for text in ["http://user:secret@\u{301}proxy:1", "http://user:secret@pro xy", "http://user:secret@proxy:0"] {
            let fault = #expect(throws: ProxyAddress.Fault.self) { try ProxyAddress.server(text) }
            #expect(fault?.reason.contains("secret") == false)
        }
    }

    @Test(
        "Nonsense is no proxy's address",
        arguments: [
            "", "://", "http://", "a b", "http://proxy:0", "http://proxy:65536", "http://proxy:x", "http://proxy:+1",
            "ftp://proxy", "http://[::1", "http://::1", "http://[nonsense]:1", "http://us%zz:p@proxy",
            "http://a%00:b@proxy",
            "http://pro%78y", "socks5://\(String(repeating: "u", count: 256)):p@proxy", "http://a\nb", "[proxy]:1",
            // libcurl takes none of them. The first is what becomes of a variable that isn't UTF-8.
            "http://pro\u{FFFD}xy:1", "a!b", "\(String(repeating: "a", count: 256)):1",
        ]
    )
    func nonsense(text: String) {
        #expect(throws: ProxyAddress.Fault.self) { try ProxyAddress.server(text) }
        #expect(Server(text) == nil)
    }

    @Test("A proxy's descriptions don't show its password")
    func descriptions() {
        let server = Server("http://user:hidden@proxy:3128")
        var dumped = ""
        dump(server, to: &dumped)
        for text in ["\(server as Any)", String(reflecting: server), "\(CurlOptions.Proxy.system)", dumped] {
            #expect(!text.contains("hidden"), "\(text)")
        }
        for text in [
            "user:hidden@proxy://", "http://user:hid#den@proxy", "http://user:hid%zzden@proxy", "x://u:hidden@proxy",
        ] {
            do throws(ProxyAddress.Fault) {
                _ = try ProxyAddress.server(text)
                Issue.record("\(text) was taken for a proxy")
            } catch {
                #expect(!error.reason.contains("hid"))
            }
        }
    }

    @Test("A proxy has an origin of its own, and makes tunnels for https, or for everything")
    func origins() throws {
        var server = Server(.https, host: "Proxy.example.com", port: 3129)
        let plain = try #require(Origin(Sample.url("http://example.com/")))
        let secure = try #require(Origin(Sample.url("https://example.com/")))
        #expect(server.origin == Origin(try Sample.url("https://proxy.example.com:3129/")))
        #expect(server.tunnels(to: secure) && !server.tunnels(to: plain))
        server.alwaysTunnels = true
        #expect(server.tunnels(to: plain))
        server.scheme = .socks5
        #expect(server.origin == nil && !server.tunnels(to: secure))
        #expect(Server(host: "::1", port: 1).origin == Origin(try Sample.url("http://[::1]:1/")))
    }

    @Test("A value that makes no sense fails the options' validation, with its name")
    func validation() throws {
        func failure(_ change: (inout Server) -> Void) -> CurlOptionsError? {
            var server = Server(host: "proxy", port: 3128)
            change(&server)
            var options = CurlOptions()
            options.proxy = .server(server)
            do throws(CurlOptionsError) { try options.validate() } catch { return error }
            return nil
        }
        #expect(failure { _ in } == nil)
        #expect(failure { $0.exceptions = ["example.com", "10/8", "::/0", "*"] } == nil)
        #expect(failure { $0.host = "a b" }?.option == "proxy")
        #expect(failure { $0.port = 70_000 }?.option == "proxy")
        #expect(failure { $0.password = "p" }?.option == "proxy")
        #expect(failure { $0.exceptions = ["10.0.0.0/33"] }?.option == "proxy.exceptions")
        #expect(
            failure { $0.certificateAuthorities = URL(fileURLWithPath: "/a.pem") }?.option
                == "proxy.certificateAuthorities"
        )
        var options = CurlOptions()
        options.hosts["example.com"].proxy = .server(Server(host: "", port: 1))
        #expect(throws: CurlOptionsError.self) { try options.validate() }
    }
}
