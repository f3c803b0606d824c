import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite("What libcurl's options have an effect on")
struct OptionEffectTests {
    @Test("Each name in the lists is one of libcurl's, if this version has it")
    func names() {
        // Newer than the oldest libcurl that is supported.
        let newer = ["CA_CACHE_TIMEOUT", "MAXLIFETIME_CONN", "HAPROXY_CLIENT_IP"]
        let ofChannels = NamedOption.ofRunningTransfer + NamedOption.forChannelToo
        for name in NamedOption.ofConnection + NamedOption.ofTrust + ofChannels where !newer.contains(name) {
            #expect(NamedOption(name)?.name == name, "\(name) is an alias, or none")
        }
    }

    @Test(
        "An option that is in no list may change anything",
        arguments: ["USERAGENT", "REQUEST_TARGET", "TLSAUTH_USERNAME", "AWS_SIGV4"]
    )
    func exchange(name: String) throws {
        #expect(try #require(NamedOption(name)).effect == .exchange)
    }

    @Test("Options with authorities or certificates affect trust, and a proxy's don't affect the server's")
    func trust() throws {
        for name in ["CAINFO", "CAINFO_BLOB", "CAPATH", "CRLFILE", "ISSUERCERT_BLOB", "SSL_VERIFYSTATUS"] {
            #expect(try #require(NamedOption(name)).effect == .trust, "\(name)")
        }
        #expect(try #require(NamedOption("PROXY_CAINFO")).effect == .connection)
    }

    @Test("The first option about TLS with the server is kept, but none that makes no difference to its safety")
    func ofTLS() throws {
        var options = ConfiguredOptions()
        for name in ["TCP_NODELAY", "PROXY_CAINFO", "PROXY_SSLVERSION", "SSL_SESSIONID_CACHE", "CERTINFO"] {
            options.add(try #require(NamedOption(name)))
        }
        #expect(options.ofTLS == nil && options.effect == .connection)
        for name in ["SSL_CIPHER_LIST", "CRLFILE", "TCP_NODELAY"] { options.add(try #require(NamedOption(name))) }
        #expect(options.ofTLS?.name == "SSL_CIPHER_LIST")
        #expect(options.effect == .trust)
    }

    @Test(
        "Options about trust, versions, ciphers and curves decide about TLS with the server",
        arguments: NamedOption.ofTrust + ["SSLVERSION", "TLS13_CIPHERS", "SSL_EC_CURVES", "TLSAUTH_TYPE", "SSLENGINE"]
    )
    func decidingOnTLS(name: String) throws {
        var options = ConfiguredOptions()
        options.add(try #require(NamedOption(name)))
        #expect(options.ofTLS?.name == name)
    }

    @Test("The exceptions for channels are options of the connection, and the additions aren't")
    func channels() throws {
        #expect(NamedOption.ofRunningTransfer.allSatisfy(NamedOption.ofConnection.contains))
        for name in NamedOption.forChannelToo {
            #expect(NamedOption(name)?.effect ?? .exchange == .exchange, "\(name)")
        }
    }

    @Test("The documentation lists the options of each effect, and those of connections alone")
    func page() throws {
        let page = Products.sources.appendingPathComponent(
            "Sources/CurlNetworking/CurlNetworking.docc/EscapeHatches.md"
        )
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        func names(_ title: String) -> [String]? {
            let row = rows.first { $0.hasPrefix("| \(title) |") }
            let names = row?.split(separator: "|").last?.split(separator: "`").enumerated()
            return names?.filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
        let ofConnection = NamedOption.ofConnection + NamedOption.prefixesOfConnection.map { $0 + "…" }
        #expect(names("only the connection") == ofConnection)
        #expect(names("whom the transfer trusts") == NamedOption.ofTrust)
        #expect(names("can't be set, although they concern only the connection") == NamedOption.ofRunningTransfer)
        let forChannelToo = NamedOption.forChannelToo + NamedOption.prefixesForChannelToo.map { $0 + "…" }
        #expect(names("can be set, although they don't concern only the connection") == forChannelToo)
    }
}
