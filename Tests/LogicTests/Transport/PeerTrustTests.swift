import Testing

@testable import CurlTransport

@Suite("libcurl's options for authorities beside those of the session")
struct PeerTrustTests {
    private static let ofServer = TrustStore(.init(authorities: [.file("/server.pem")]))
    private static let ofProxy = TrustStore(.init(authorities: [.file("/proxy.pem")]))

    /// A handle with the session's authorities for both.
    private static func handle() throws -> EasyHandle {
        CurlLibrary.initialize()
        let easy = try #require(EasyHandle())
        try ofServer.apply(to: easy)
        try ProxyTrust(ofProxy).apply(to: easy)
        return easy
    }

    private static func set(_ name: String, _ value: String, on easy: EasyHandle) throws {
        let option = try #require(NamedOption(name))
        switch option.kind {
        case .blob: try Array(value.utf8).withUnsafeBytes { try easy.set(option, blob: $0) }
        default: try easy.set(option, string: value)
        }
    }

    @Test("Authorities that are set for the proxy replace the session's for it, and so do those for the server")
    func replacing() throws {
        for name in ["CAINFO", "CAINFO_BLOB", "CAPATH"] {
            let forProxy = try Self.handle()
            try Self.set("PROXY_" + name, "/other", on: forProxy)
            #expect(forProxy.tls[trustIn: .proxy] == nil && forProxy.tls[trustIn: .server] === Self.ofServer)
            let forServer = try Self.handle()
            try Self.set(name, "/other", on: forServer)
            #expect(forServer.tls[trustIn: .proxy] === Self.ofProxy && forServer.tls[trustIn: .server] == nil)
        }
    }

    /// The beginning of the options' names, and whom they are about.
    private static let peers: [(prefix: String, peer: TLSPeer, other: TLSPeer)] = [
        ("", .server, .proxy), ("PROXY_", .proxy, .server),
    ]

    @Test("A revocation list that is set for the proxy counts for the proxy, and one for the server for the server")
    func revocationLists() throws {
        for (prefix, peer, other) in Self.peers {
            let easy = try Self.handle()
            try Self.set(prefix + "CRLFILE", "/revoked.crl", on: easy)
            #expect(easy.tls[trustIn: peer]?.content.revocationLists == ["/revoked.crl"])
            #expect(easy.tls[trustIn: other]?.content.revocationLists == [])
        }
    }

    @Test("Intermediates can be refused as authorities for the proxy, and for the server")
    func partialChains() throws {
        for (prefix, peer, other) in Self.peers {
            let easy = try Self.handle()
            // CURLSSLOPT_NO_PARTIALCHAIN
            try easy.set(try #require(NamedOption(prefix + "SSL_OPTIONS")), number: 4)
            #expect(easy.tls[trustIn: peer]?.content.acceptsIntermediates == false)
            #expect(easy.tls[trustIn: other]?.content.acceptsIntermediates == true)
        }
    }
}
