import CCurlNetworkingLibcurl

/// The options of one transfer, which write themselves onto its own, new handle, once.
package protocol EasyOptions {
    /// Without user name and password.
    var url: String { get }
    /// libcurl's `CURLPROTO_` bits: the schemes that `url` may have.
    var protocols: Int { get }
    /// Whether a connection to the server may speak TLS.
    var mayUseTLS: Bool { get }
    /// In bytes: the most that one read from the socket returns.
    var receiveBufferSize: Int { get }
    /// For the server.
    var credentials: (user: String, password: String)? { get }
    /// The session's options for connections to the origin; nil for the defaults.
    var connection: ConnectionProfile? { get }
    /// The group that counts the sockets opened for the transfer; nil for the loop's default.
    var connections: ConnectionGroup? { get }
    /// Whether libcurl asks the handler for bytes to send.
    var sendsBody: Bool { get }
    /// Whether the handler is told when the connection is established; see `CurlLibrary.reportsConnections`.
    var reportsConnection: Bool { get }
    /// Whether libcurl only establishes the connection, and hands it to a `Channel`.
    var opensChannel: Bool { get }

    /// The transfer's defaults, which `connection` may change.
    func applyDefaults(to easy: EasyHandle) throws(TransferFailure)
    /// This transfer's own options, which override `connection`.
    func applyOwn(to easy: EasyHandle) throws(TransferFailure)
    /// The options that the transfer can't do without: written again after the program's own options.
    func applyFixed(to easy: EasyHandle) throws(TransferFailure)

    /// Writes all options. Throws libcurl's code for the first that it refuses.
    func apply(to easy: EasyHandle) throws(TransferFailure)
}

extension EasyOptions {
    package var connections: ConnectionGroup? { nil }
    package var reportsConnection: Bool { false }
    package var opensChannel: Bool { false }
    package func applyDefaults(to easy: EasyHandle) throws(TransferFailure) {}
    package func applyFixed(to easy: EasyHandle) throws(TransferFailure) {}

    /// The order in which options are written: the last one to set an option wins.
    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try applyShared(to: easy)
        try applyDefaults(to: easy)
        try connection?.apply(to: easy)
        try applyOwn(to: easy)
    }

    private func applyShared(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_URL, url)
        // Handling "." and ".." segments is up to the caller.
        try easy.set(CURLOPT_PATH_AS_IS, true)
        try easy.set(CURLoption(UInt32(CLIBCURL_OPT_PROTOCOLS)), protocols)
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        try easy.set(CURLOPT_BUFFERSIZE, receiveBufferSize)
        // Cancelling a transfer during its name lookup must not block the loop until the lookup ends.
        if CurlLibrary.hasQuickExit { try easy.set(CURLoption(UInt32(CLIBCURL_OPT_QUICK_EXIT)), true) }
        // libcurl caches parsed certificates between connections only if they all come from one file. Parsing them costs 50 ms of CPU.
        if CurlLibrary.hasCAFile, mayUseTLS { try easy.clearAuthorityDirectory(for: .server) }
        // libcurl's own default leaves that to OpenSSL's configuration.
        if mayUseTLS { try easy.set(CURLOPT_SSLVERSION, TLSSettings.defaultVersions) }
        easy.tls.hasSecureServer = mayUseTLS
        if let credentials {
            try easy.set(CURLOPT_USERNAME, credentials.user)
            try easy.set(CURLOPT_PASSWORD, credentials.password)
        }
        // Otherwise libcurl would look for a proxy, and for hosts that bypass it, in the environment for each transfer. Another thread may
        // be changing that.
        try easy.set(CURLOPT_PROXY, "")
        try easy.set(CURLOPT_NOPROXY, "")
    }
}

/// What a handle still has to know of its options while it runs; see `EasyOptions`.
struct TransferTraits {
    private(set) var sendsBody = false
    private(set) var reportsConnection = false
    private(set) var opensChannel = false
    /// Whether names are looked up over HTTPS.
    var asksResolver = false
    /// Whether connections are made to a proxy, whose name is then looked up in place of the server's.
    var usesProxy = false
    /// Whether the program has limited the transfer's time itself.
    var hasTimeLimit = false
    /// nil if the transfer connects to a host and port.
    var unixSocket: NameSettings.UnixSocket?

    /// Those of a handle that isn't configured.
    init() {}

    init(of options: some EasyOptions) {
        sendsBody = options.sendsBody
        reportsConnection = options.reportsConnection
        opensChannel = options.opensChannel
    }
}
