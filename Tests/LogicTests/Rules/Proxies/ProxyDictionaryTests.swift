import Foundation
import Testing

@testable import CurlNetworking

@Suite("A dictionary of proxies")
struct ProxyDictionaryTests {
    private static func route(_ entries: [AnyHashable: Any], _ url: String = "http://example.com/") throws -> ProxyRoute
    {
        let url = try Sample.url(url)
        return ProxyTable(dictionary: entries).route(to: try #require(Origin(url) ?? Origin.ofFTP(url)))
    }

    private static func proxy(_ entries: [AnyHashable: Any], _ url: String = "http://example.com/") throws -> String? {
        try route(entries, url).server?.description
    }

    @Test("Each scheme has its keys, and SOCKS is for those without")
    func schemes() throws {
        let entries: [AnyHashable: Any] = [
            kCFNetworkProxiesHTTPEnable: true, kCFNetworkProxiesHTTPProxy: "a", kCFNetworkProxiesHTTPPort: 1,
            kCFNetworkProxiesHTTPSEnable as String: 1, kCFNetworkProxiesHTTPSProxy as String: "b",
            kCFNetworkProxiesHTTPSPort as String: NSNumber(value: 2),
            "SOCKSEnable": NSNumber(value: true), "SOCKSProxy": "c", "SOCKSPort": UInt16(3),
        ]
        #expect(try Self.proxy(entries) == "http://a:1")
        #expect(try Self.proxy(entries, "https://example.com/") == "http://b:2")
        #expect(try Self.proxy(entries, "ftp://example.com/") == "socks5h://c:3")
    }

    @Test("A stream task takes the proxy for https, or else the SOCKS proxy")
    func streams() throws {
        let stream = try #require(Origin.ofStream(host: "example.com", port: 80))
        let entries: [AnyHashable: Any] = [
            "HTTPEnable": 1, "HTTPProxy": "a", "HTTPPort": 1, "HTTPSEnable": 1, "HTTPSProxy": "b", "HTTPSPort": 2,
            "SOCKSEnable": 1, "SOCKSProxy": "c", "SOCKSPort": 3,
        ]
        #expect(ProxyTable(dictionary: entries).route(to: stream).server?.description == "http://b:2")
        let others = entries.filter { !"\($0.key)".hasPrefix("HTTPS") }
        #expect(ProxyTable(dictionary: others).route(to: stream).server?.description == "socks5h://c:3")
    }

    @Test("Ports may be left out, or be text or any type of whole number")
    func ports() throws {
        #expect(try Self.proxy(["HTTPEnable": 1, "HTTPProxy": "a"]) == "http://a:80")
        #expect(try Self.proxy(["HTTPSEnable": 1, "HTTPSProxy": "a"], "https://example.com/") == "http://a:443")
        #expect(try Self.proxy(["SOCKSEnable": 1, "SOCKSProxy": "a"]) == "socks5h://a:1080")
        #expect(try Self.proxy(["HTTPEnable": "1", "HTTPProxy": "a", "HTTPPort": "8080"]) == "http://a:8080")
        for port in [8080.0, Float(8080), UInt16(8080), NSNumber(value: 8080), Decimal(8080)] as [Any] {
            let entries: [AnyHashable: Any] = ["HTTPEnable": 1, "HTTPProxy": "a", "HTTPPort": port]
            #expect(try Self.proxy(entries) == "http://a:8080", "\(type(of: port))")
        }
        let one = NSNumber(value: 1)
        #expect(try Self.proxy(["HTTPEnable": one, "HTTPProxy": "a", "HTTPPort": one]) == "http://a:1")
    }

    @Test("Every number other than 0 enables a proxy")
    func numbers() throws {
        let numbers: [Any] = [
            0.5, -1, Float(0.5), CGFloat(0.5), Decimal(0.5), UInt64.max, NSNumber(value: 0.5), Double.infinity, "0.5",
        ]
        for number in numbers {
            let entries: [AnyHashable: Any] = ["HTTPEnable": number, "HTTPProxy": "a"]
            #expect(try Self.proxy(entries) == "http://a:80", "\(number)")
        }
        for zero in [0.0, -0.0, CGFloat(0), Decimal(0), NSNumber(value: 0), "0"] as [Any] {
            #expect(try Self.route(["HTTPEnable": zero, "HTTPProxy": "a"]) == .direct, "\(zero)")
        }
    }

    @Test("A proxy that isn't enabled isn't used, and an empty dictionary means no proxy")
    func disabled() throws {
        #expect(try Self.route([:]) == .direct)
        #expect(try Self.route(["HTTPProxy": "a", "HTTPPort": 1]) == .direct)
        #expect(try Self.route(["HTTPEnable": 0, "HTTPProxy": "a"]) == .direct)
        #expect(try Self.route(["HTTPEnable": false, "HTTPProxy": "a"]) == .direct)
        #expect(try Self.route(["HTTPEnable": 1, "HTTPProxy": "a"], "https://example.com/") == .direct)
    }

    @Test("A dictionary's user name and password are the proxy's, as they are")
    func credentials() throws {
        let entries: [AnyHashable: Any] = [
            "HTTPEnable": 1, "HTTPProxy": "a", kCFProxyUsernameKey: "user", kCFProxyPasswordKey: "p%40ss",
        ]
        #expect(try Self.route(entries).server?.credential == Credential(user: "user", password: "p%40ss"))
    }

    @Test("A URL in a host's place says more than the keys can")
    func urls() throws {
        let entries: [AnyHashable: Any] = ["HTTPSEnable": 1, "HTTPSProxy": "https://u:p%40@a:3129"]
        let server = try Self.route(entries, "https://example.com/").server
        #expect(server?.description == "https://a:3129")
        #expect(server?.credential == Credential(user: "u", password: "p@"))
        #expect(try Self.proxy(["SOCKSEnable": 1, "SOCKSProxy": "socks4://a"]) == "socks4://a:1080")
    }

    @Test("Hosts in the list of exceptions, and simple names if they are excluded, are reached without a proxy")
    func exceptions() throws {
        let entries: [AnyHashable: Any] = [
            "HTTPEnable": 1, "HTTPProxy": "a", "HTTPPort": 1,
            kCFNetworkProxiesExceptionsList: ["*.local", "169.254/16", "example.org"],
            kCFNetworkProxiesExcludeSimpleHostnames: 1,
        ]
        for url in ["http://printer.local/", "http://169.254.1.1/", "http://example.org/", "http://intranet/"] {
            #expect(try Self.route(entries, url) == .direct, "\(url)")
        }
        for url in ["http://www.example.org/", "http://example.com/"] {
            #expect(try Self.proxy(entries, url) == "http://a:1", "\(url)")
        }
    }

    private static var good: [AnyHashable: Any] { ["HTTPEnable": 1, "HTTPProxy": "a", "HTTPPort": 1] }

    private static var senseless: [[AnyHashable: Any]] {
        [
            ["HTTPEnable": "1"], ["HTTPEnable": "1", "HTTPProxy": ""], ["HTTPEnable": "1", "HTTPProxy": "a b"],
            ["HTTPEnable": "1", "HTTPProxy": "a", "HTTPPort": "zero"], ["HTTPEnable": "1", "HTTPProxy": "gopher://a"],
            ["ProxyAutoConfigEnable": "1"], ["ProxyAutoConfigEnable": "yes"],
            ["HTTPEnable": "true", "HTTPProxy": "a", "HTTPPort": 1], ["HTTPEnable": NSNull()],
            good.merging(["ExceptionsList": Set(["example.org"])]) { $1 },
            good.merging(["ExceptionsList": "example.org"]) { $1 },
            good.merging(["ExceptionsList": ["example.org", 5] as [Any]]) { $1 },
            good.merging(["ExcludeSimpleHostnames": "yes"]) { $1 },
        ]
    }

    @Test("An entry that makes no sense keeps requests from going without a proxy", arguments: senseless.indices)
    func unusable(index: Int) throws {
        guard case .unusable = try Self.route(Self.senseless[index]) else {
            Issue.record("It was taken for something")
            return
        }
    }

    private static var mistyped: [(key: String, value: Any)] {
        [
            ("HTTPEnable", Double.nan), ("HTTPEnable", "nan"),
            ("HTTPPort", 34445.5), ("HTTPPort", NSNumber(value: 34445.5)), ("HTTPPort", "80.0"),
            ("HTTPPort", true), ("HTTPPort", NSNumber(value: true)), ("HTTPPort", Double.nan), ("HTTPPort", UInt64.max),
            (kCFProxyUsernameKey, 5), (kCFProxyUsernameKey, Data("user".utf8)),
            (kCFProxyPasswordKey, 5), (kCFProxyPasswordKey, NSNull()),
        ]
    }

    @Test("A value of a wrong type keeps requests from going without a proxy", arguments: mistyped.indices)
    func wrongTypes(index: Int) throws {
        let (key, value) = Self.mistyped[index]
        var entries = Self.good
        entries[kCFProxyUsernameKey] = "user"
        entries[key] = value
        guard case .unusable(let reason) = try Self.route(entries) else {
            Issue.record("\(key) of type \(type(of: value)) was taken for something")
            return
        }
        #expect(reason.contains(key) || reason.contains("port"))
    }

    @Test("An entry about one scheme's proxy is nothing to the other schemes")
    func otherSchemes() throws {
        let entries = Self.good.merging(["HTTPSEnable": "yes", "HTTPSProxy": "b"]) { $1 }
        #expect(try Self.proxy(entries) == "http://a:1")
        guard case .unusable(let reason) = try Self.route(entries, "https://example.com/") else {
            Issue.record("It was taken for something")
            return
        }
        #expect(reason.contains("HTTPSEnable"))
    }
}
