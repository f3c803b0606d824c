import CCurlNetworkingLibcurl

/// All options of one transfer from or to an FTP server. The value writes itself onto an easy handle.
package struct FTPOptions: EasyOptions, Sendable {
    package enum Direction: Sendable, Equatable {
        /// RETR, or LIST if the path ends with a slash; from `offset` on, in bytes.
        case download(offset: Int64)
        /// Only MDTM and SIZE.
        case attributes
        /// STOR.
        case upload(TransferOptions.Body)
    }

    /// Without user name and password.
    package var url: String
    package var direction: Direction
    /// Without credentials, libcurl logs in as "anonymous".
    package var credentials: (user: String, password: String)?
    /// How long libcurl waits for a reply before it gives up, in whole seconds.
    package var replyTimeout: Duration = .seconds(60)
    /// How long a transfer over TLS may take to connect and shake hands, from its start and from each reply. On the data connection,
    /// libcurl shakes hands within one call, which blocks the loop.
    package var handshakeTimeout: Duration = .seconds(60)
    /// nil for the defaults.
    package var connection: ConnectionProfile?

    package init(url: String, direction: Direction) {
        self.url = url
        self.direction = direction
    }

    private var isSecure: Bool { url.hasPrefix("ftps:") }

    package var sendsBody: Bool {
        if case .upload = direction { true } else { false }
    }

    /// Called when the server replies. Within libcurl, which counts from the transfer's start.
    package func noteReply(to easy: EasyHandle) {
        guard isSecure else { return }
        try? limitHandshake(of: easy, to: .microseconds(easy.info.offset(CURLINFO_TOTAL_TIME_T)) + handshakeTimeout)
    }

    /// Called when libcurl has returned after a reply, and has shaken hands if it was to.
    package func replySettled(of easy: EasyHandle) {
        guard isSecure, Self.limitsWholeTransfer(easy) else { return }
        try? easy.set(CURLOPT_TIMEOUT_MS, 0)
    }

    private func limitHandshake(of easy: EasyHandle, to limit: Duration) throws(TransferFailure) {
        try easy.setConnectTimeout(limit)
        if Self.limitsWholeTransfer(easy) { try easy.set(CURLOPT_TIMEOUT_MS, limit.count(of: .milliseconds(1))) }
    }

    /// Whether a handshake is limited as the whole transfer would be, until libcurl returns: see `CurlQuirks.forgetsFTPHandshakeLimit`.
    private static func limitsWholeTransfer(_ easy: EasyHandle) -> Bool {
        CurlQuirks.current.forgetsFTPHandshakeLimit && !easy.traits.hasTimeLimit
    }

    /// Whether the transfer fetches a file, byte for byte: the length of a listing, or of text whose line breaks are converted, isn't known
    /// beforehand.
    package var isOfFile: Bool {
        let path = FTPPath(Substring(location.lowercased()))
        return path.type != "a" && path.type != "d" && path.endsInName
    }

    /// The URL of the same folder, with a slash at its end, if `url` asks for a folder's names without one (RFC 1738 §3.2.2): for that,
    /// libcurl would list the folder above. nil for all other URLs.
    var urlOfListing: String? {
        let path = FTPPath(location)
        guard path.listsNames, path.endsInName else { return nil }
        return "\(url[..<path.name.endIndex])/\(url[path.name.endIndex...])"
    }

    /// The URL's host and path.
    private var location: Substring {
        url.dropFirst(isSecure ? 7 : 6).prefix { !"?#".contains($0) }
    }

    /// The HTTP proxy that libcurl asks instead of the server; nil if there is none.
    package var httpProxy: ProxySettings? {
        connection?.settings.lazy.compactMap { $0 as? ProxySettings }.first { $0.url.hasPrefix("http") }
    }

    package var receiveBufferSize: Int { 64 * 1024 }
    package var protocols: Int { Int(CURLPROTO_FTP) | Int(CURLPROTO_FTPS) }
    /// A program can make libcurl ask any server for TLS.
    package var mayUseTLS: Bool { true }

    package func applyOwn(to easy: EasyHandle) throws(TransferFailure) {
        // Otherwise a server could make us connect to a third machine.
        try easy.set(CURLOPT_FTP_SKIP_PASV_IP, true)
        try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Int(min(max(1, replyTimeout.components.seconds), 60)))
        // Otherwise libcurl continues in clear text if the server refuses to protect the data.
        if isSecure {
            try easy.set(CURLOPT_USE_SSL, CLIBCURL_USESSL_ALL)
            try limitHandshake(of: easy, to: handshakeTimeout)
        }
        easy.tls.hasSecureServer = isSecure
        switch direction {
        case .download(let offset):
            try easy.set(CURLOPT_FILETIME, true)
            if httpProxy == nil, let urlOfListing { try easy.set(CURLOPT_URL, urlOfListing) }
            if offset > 0 { try easy.set(CURLOPT_RESUME_FROM_LARGE, offset: offset) }
        case .attributes:
            try easy.set(CURLOPT_FILETIME, true)
            try easy.set(CURLOPT_NOBODY, true)
        case .upload(let body):
            try easy.set(CURLOPT_UPLOAD, true)
            // libcurl reads nothing from the data connection, and so misses the TLS session with which the next one would have to begin for
            // servers such as proftpd: they refuse it otherwise.
            if isSecure { try easy.set(CURLOPT_FORBID_REUSE, true) }
            if case .known(let length) = body { try easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        }
    }
}
