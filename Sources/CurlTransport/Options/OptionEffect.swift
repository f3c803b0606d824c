/// The most that a libcurl option set by the program can change about a transfer.
package enum OptionEffect: Int, Comparable, Sendable {
    /// How the connection is established and used. The response is the one that any transfer would have got.
    case connection
    /// What is asked for, as whom, or how the response is read.
    case exchange
    /// The same, and whom the transfer trusts.
    case trust

    package static func < (a: OptionEffect, b: OptionEffect) -> Bool { a.rawValue < b.rawValue }
}

/// What the options that a program has set on one transfer are about.
package struct ConfiguredOptions: Sendable {
    /// The strongest effect.
    package private(set) var effect = OptionEffect.connection
    /// The first one about TLS with the server; nil for none.
    package private(set) var ofTLS: NamedOption?

    package init() {}

    package mutating func add(_ option: NamedOption) {
        effect = max(effect, option.effect)
        if ofTLS == nil, option.isOfTLS { ofTLS = option }
    }
}

extension NamedOption {
    /// An option that isn't listed here, such as one of a newer libcurl, may change anything.
    package var effect: OptionEffect {
        if Self.ofTrust.contains(name) { return .trust }
        return Self.ofConnection.contains(name) || Self.prefixesOfConnection.contains { name.hasPrefix($0) }
            ? .connection : .exchange
    }

    /// Whether it decides how libcurl speaks TLS with the server, or which servers it trusts.
    var isOfTLS: Bool {
        guard !Self.harmlessToTLS.contains(name) else { return false }
        return Self.ofTrust.contains(name) || Self.prefixesOfTLS.contains { name.hasPrefix($0) }
    }

    private static let prefixesOfTLS = words("SSL TLS ECH")

    /// Options about what only libcurl's own TLS has: ALPN, resumed sessions and early data.
    private static let harmlessToTLS = words("SSL_ENABLE_ALPN SSL_ENABLE_NPN SSL_FALSESTART SSL_SESSIONID_CACHE")

    /// Whether it may be set where libcurl only makes the connection, for a `Channel`: it does its work while connecting, or has none there.
    /// One that isn't listed, such as one of a newer libcurl, could be about the request, the response, or the pace of either.
    package var mayBeSetForChannel: Bool {
        if Self.ofRunningTransfer.contains(name) { return false }
        return effect != .exchange || Self.forChannelToo.contains(name)
            || Self.prefixesForChannelToo.contains { name.hasPrefix($0) }
    }

    /// Options of the connection that do their work after connecting, where a channel's bytes don't pass through libcurl's transfer.
    package static let ofRunningTransfer = words(
        """
        LOW_SPEED_LIMIT LOW_SPEED_TIME MAXFILESIZE MAXFILESIZE_LARGE MAX_RECV_SPEED_LARGE MAX_SEND_SPEED_LARGE TIMEOUT
        TIMEOUT_MS
        """
    )

    /// Options with an effect on the exchange that work while connecting, or for which nothing is lost if a channel ignores them.
    package static let forChannelToo = words(
        "ACCEPT_ENCODING EGDSOCKET HAPROXYPROTOCOL HAPROXY_CLIENT_IP HTTP_CONTENT_DECODING RANDOM_FILE"
    )

    /// Prefixes of the names of further such options: TLS, and FTP, which no channel speaks.
    package static let prefixesForChannelToo = words("ECH FTP SSL TLS")

    /// The documentation's page on escape hatches has these lists too; a test compares them.
    package static let ofTrust = words(
        "CAINFO CAINFO_BLOB CAPATH CRLFILE ISSUERCERT ISSUERCERT_BLOB SSL_OPTIONS SSL_VERIFYSTATUS"
    )

    /// Options that change nothing but the connection. A proxy's trust is among them: TLS with the server goes through its tunnel.
    package static let ofConnection: [String] = words(
        """
        ADDRESS_SCOPE BUFFERSIZE CA_CACHE_TIMEOUT CERTINFO CONNECTTIMEOUT CONNECTTIMEOUT_MS EXPECT_100_TIMEOUT_MS
        FORBID_REUSE FRESH_CONNECT HAPPY_EYEBALLS_TIMEOUT_MS HTTP_VERSION INTERFACE IPRESOLVE LOCALPORT LOCALPORTRANGE
        LOW_SPEED_LIMIT LOW_SPEED_TIME MAXAGE_CONN MAXCONNECTS MAXFILESIZE MAXFILESIZE_LARGE MAXLIFETIME_CONN
        MAX_RECV_SPEED_LARGE MAX_SEND_SPEED_LARGE PIPEWAIT PRE_PROXY SOCKS5_AUTH SOCKS5_GSSAPI_NEC
        SOCKS5_GSSAPI_SERVICE SSLVERSION SSL_CIPHER_LIST SSL_EC_CURVES SSL_ENABLE_ALPN SSL_FALSESTART
        SSL_SESSIONID_CACHE STREAM_WEIGHT TIMEOUT TIMEOUT_MS TLS13_CIPHERS UPKEEP_INTERVAL_MS UPLOAD_BUFFERSIZE
        """
    )

    /// Prefixes of the names of further such options.
    package static let prefixesOfConnection = words("DNS_ DOH_ PROXY TCP_")

    private static func words(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
