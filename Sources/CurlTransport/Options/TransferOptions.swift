import CCurlNetworkingLibcurl

/// Everything libcurl is told about one HTTP exchange. A value that knows how to write itself onto an easy handle.
package struct TransferOptions: EasyOptions, Sendable {
    /// The body that goes with a request.
    package enum Body: Sendable, Equatable {
        case none
        /// So many bytes, asked for through `TransferHandler.transferNeedsBody(into:)` unless there are none; sent with Content-Length.
        case known(Int64)
        /// As many as there will be; HTTP/1.1 sends them chunked.
        case chunked
    }

    /// Without user name and password.
    package var url: String
    package var method: String
    /// Lines of the form "Name: value", "Name;" for an empty value and "Name:" to keep libcurl from adding one.
    package var headers: [String]
    package var body = Body.none
    /// A conversation of several requests that libcurl leads with the server, and that authenticates the connection.
    package enum ConnectionAuthentication: Sendable, Equatable {
        /// HTTP/1.1 alone has it.
        case ntlm
        /// With the process's Kerberos tickets.
        case negotiate
    }

    package var connectionAuthentication: ConnectionAuthentication?
    /// User name and password for the server: for `connectionAuthentication`, or else sent ahead as Basic (RFC 7617).
    package var credentials: (user: String, password: String)?
    /// The codings that libcurl is to offer unless `headers` say something of them; nil for none. It decodes none in any case.
    package var acceptEncoding: String?
    /// In bytes: what one read from the socket can bring.
    package var receiveBufferSize = 16 * 1024
    /// Leaves kept connections alone, and makes one.
    package var usesNewConnection = false
    /// Rather wait for a multiplexed connection than open another: only for origins known to speak HTTP/2.
    package var waitsForMultiplexing = false
    /// Has the connection closed behind the transfer if that was its first, and got no answer.
    package var closesUnlessAnswered = false
    /// How long the attempts to connect may take together, the lookup of the name and TLS included: each of a host's
    /// addresses gets a part of it. nil for libcurl's default, five minutes.
    package var connectTimeout: Duration?
    /// nil for nothing beyond the defaults.
    package var connection: ConnectionProfile?
    package var connections: ConnectionGroup?
    package var reportsConnection = false
    package enum VersionOverride: Sendable, Equatable {
        case http1
        /// There is a connection without TLS that speaks HTTP/2 by prior knowledge, and this transfer is to join it: see
        /// `CurlQuirks.restartsPriorKnowledge`.
        case joinsPriorKnowledge
    }

    /// What the transfer speaks whatever `connection` says.
    package var versionOverride: VersionOverride?
    /// Somebody wants to have a say in the TLS handshake.
    package var inquiry: HandshakeInquiry?
    /// The request goes through a tunnel that an HTTP proxy makes; the handler hears what the proxy says to it.
    package var usesTunnel = false
    /// Lines for the proxy alone, with the request for a tunnel.
    package var tunnelHeaders: [String] = []
    /// Shown to an HTTP proxy, and to nobody else.
    package var proxyAuthentication: ProxyAuthentication?

    package init(url: String, method: String, headers: [String] = []) {
        self.url = url
        self.method = method
        self.headers = headers
    }

    /// In bytes: what one write to the socket can carry.
    private static let sendBufferSize = 256 * 1024

    /// An empty body is none to libcurl: its length is all there is to send. As an upload, newer versions close the connection
    /// where the answer to it is no success, and is there before they have noticed that nothing is left to send: seen with 8.14.
    package var sendsBody: Bool { body != .none && body != .known(0) }

    /// Of the two schemes there are.
    private var isPlainHTTP: Bool { url.utf8.dropFirst(4).first == UInt8(ascii: ":") }

    private var allHeaders: [String] { body == .known(0) ? headers + ["Content-Length: 0"] : headers }

    package var protocols: Int { Int(CURLPROTO_HTTP) | Int(CURLPROTO_HTTPS) }
    package var mayUseTLS: Bool { !isPlainHTTP }

    package func applyDefaults(to easy: EasyHandle) throws(TransferFailure) {
        if let connectTimeout { try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout.count(of: .milliseconds(1))) }
        if sendsBody { try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.sendBufferSize) }
    }

    package func applyOwn(to easy: EasyHandle) throws(TransferFailure) {
        if let acceptEncoding {
            try easy.set(CURLOPT_ACCEPT_ENCODING, acceptEncoding)
            try easy.set(CURLOPT_HTTP_CONTENT_DECODING, false)
        }
        if usesNewConnection { try easy.set(CURLOPT_FRESH_CONNECT, true) }
        if waitsForMultiplexing { try easy.set(CURLOPT_PIPEWAIT, true) }
        if closesUnlessAnswered { try easy.closeConnectionUnlessAnswered() }
        try applyVersionAndAuthentication(to: easy)
        try applyMethodAndBody(to: easy)
        let headers = allHeaders
        if !headers.isEmpty { try easy.set(CURLOPT_HTTPHEADER, list: headers) }
        try inquiry?.apply(to: easy)
    }

    private func applyVersionAndAuthentication(to easy: EasyHandle) throws(TransferFailure) {
        switch versionOverride {
        case .http1: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .joinsPriorKnowledge: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        case nil: break
        }
        switch connectionAuthentication {
        case .ntlm:
            try easy.set(CURLOPT_HTTPAUTH, CLIBCURL_AUTH_NTLM)
            try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .negotiate:
            try easy.set(CURLOPT_HTTPAUTH, CLIBCURL_AUTH_NEGOTIATE)
        case nil:
            break
        }
        if usesTunnel { try easy.reportTunnel(tunnelHeaders) }
        try proxyAuthentication?.apply(to: easy)
    }

    private func applyMethodAndBody(to easy: EasyHandle) throws(TransferFailure) {
        // A HEAD with a body is an upload to libcurl, which then waits for its response's body: the handler is to end the
        // transfer with the head. A conversation goes beyond that, and so goes without the body.
        let isHead = method == "HEAD" && (!sendsBody || connectionAuthentication != nil)
        if isHead { return try easy.set(CURLOPT_NOBODY, true) }
        if sendsBody {
            try easy.set(CURLOPT_UPLOAD, true)
            if case .known(let length) = body { try easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        }
        if method != (sendsBody ? "PUT" : "GET") { try easy.set(CURLOPT_CUSTOMREQUEST, method) }
    }
}
