import CCurlNetworkingLibcurl

/// All options of one HTTP exchange, which write themselves onto an easy handle. Large: a copy retains a dozen objects.
package struct TransferOptions: EasyOptions, Sendable {
    package enum Body: Sendable, Equatable {
        case none
        /// This many bytes, asked for through `TransferHandler.transferNeedsBody(into:)` unless 0; sent with Content-Length.
        case known(Int64)
        /// Length unknown; HTTP/1.1 sends it chunked.
        case chunked
    }

    /// An authentication scheme with which servers may authenticate the connection, over HTTP/1.1.
    package enum ConnectionAuthentication: Sendable, Equatable {
        /// libcurl takes several requests for it.
        case ntlm
        /// `headers` have the answer, which a server takes once.
        case negotiate
    }

    /// Whether the transfer may use a connection that other transfers opened.
    package enum Reuse: Sendable, Equatable {
        case possible
        /// The same, and the transfer waits for a multiplexed one rather than opening another: only for origins known to speak HTTP/2.
        case awaited
        case none
    }

    /// Whether the connection is closed after the transfer, unless others use it.
    package enum Closing: Sendable, Equatable {
        case never
        /// If this was the connection's first transfer, and got no response.
        case unlessAnswered
        case always
    }

    package enum VersionOverride: Sendable, Equatable {
        case http1
        /// The transfer is to join a plaintext connection that already speaks HTTP/2 by prior knowledge: see
        /// `CurlQuirks.restartsPriorKnowledge`.
        case joinsPriorKnowledge
    }

    /// Without user name and password.
    package let url: String
    /// What the request asks for, in its first line; nil for the path and query of `url`, as libcurl writes them. With an HTTP proxy and no
    /// tunnel, the whole URL.
    package var requestTarget: String?
    package var method: String
    /// Lines of the form "Name: value", "Name;" for an empty value and "Name:" to keep libcurl from adding one.
    package var headers: [String] {
        get { lines.all }
        set { lines = .own(newValue) }
    }
    private var lines: Lines
    package var body = Body.none
    package var connectionAuthentication: ConnectionAuthentication?
    /// User name and password for the server: for NTLM, or else sent preemptively as Basic (RFC 7617).
    package var credentials: (user: String, password: String)?
    /// The codings that libcurl offers unless `headers` already has `Accept-Encoding`; nil for none. libcurl decodes none in any case.
    package var acceptEncoding: String?
    /// In bytes: the most that one read from the socket returns.
    package var receiveBufferSize = ReceiveBuffer.small
    /// How often the request may be sent: libcurl retries it by itself on other connections. nil for as often as libcurl wants.
    package var maximumSends: Int?
    package var reuse = Reuse.possible
    package var closing = Closing.never
    /// Whether the connection speaks HTTP/2 without TLS, unless `connectionAuthentication` needs HTTP/1.1.
    package var hasPriorKnowledge = false
    /// The total time limit for connecting, including the name lookup and TLS: each of a host's addresses gets a share. nil for libcurl's
    /// default, five minutes.
    package var connectTimeout: Duration?
    /// nil for the defaults.
    package var connection: ConnectionProfile?
    package var connections: ConnectionGroup?
    package var reportsConnection = false
    /// The HTTP version to speak, overriding `connection`.
    package var versionOverride: VersionOverride?
    /// Asks questions during the TLS handshake.
    package var inquiry: HandshakeInquiry?
    package var proxy = ProxyUse()

    private enum Lines {
        case own([String])
        /// Other transfers have the same ones.
        case shared(HeaderList)

        var all: [String] {
            switch self {
            case .own(let lines): lines
            case .shared(let list): list.lines
            }
        }
    }

    // Each sets every property that has no value yet once: otherwise the compiler copies the whole.

    package init(url: String, method: String, headers: [String] = []) {
        self.url = url
        self.method = method
        lines = .own(headers)
    }

    package init(url: String, method: String, headers: HeaderList) {
        self.url = url
        self.method = method
        lines = .shared(headers)
    }

    /// In bytes: the most that one write to the socket sends.
    private static let sendBufferSize = 256 * 1024

    /// For an empty body, libcurl is told that there is none; its length is still sent. As an upload, newer versions would close the
    /// connection if an error response arrives before they notice that nothing is left to send: seen with 8.14.
    package var sendsBody: Bool { body != .none && body != .known(0) }

    /// Whether libcurl sends the request several times, to authenticate in steps. Through a proxy's tunnel, it isn't sent before the tunnel
    /// is open.
    package var authenticatesInSteps: Bool {
        connectionAuthentication == .ntlm || proxy.authentication != nil && !proxy.usesTunnel
    }

    /// The host and port to ask an HTTP proxy for a tunnel to, with the host as written in the URL; nil for no tunnel.
    package var tunnelTarget: String? {
        guard let tunnel = proxy.tunnel else { return nil }
        if let target = tunnel.connectTo { return target }
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let colon = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":")
        return "\(authority[..<(colon ?? authority.endIndex)]):\(tunnel.port)"
    }

    /// By prior knowledge.
    package var speaksHTTP2WithoutTLS: Bool { hasPriorKnowledge && connectionAuthentication == nil }

    private var allHeaders: [String] { body == .known(0) ? headers + ["Content-Length: 0"] : headers }

    /// Whether the scheme is https, not http. Bytes are several times faster than the view.
    package var mayUseTLS: Bool {
        var url = url
        return url.withUTF8 { $0.dropFirst(4).first != UInt8(ascii: ":") }
    }

    package var protocols: Int { Int(CURLPROTO_HTTP) | Int(CURLPROTO_HTTPS) }

    package func applyDefaults(to easy: EasyHandle) throws(TransferFailure) {
        if let connectTimeout { try easy.setConnectTimeout(connectTimeout) }
        // Otherwise a response that only claims to be HTTP/2 makes libcurl send other requests on its connection concurrently.
        if !mayUseTLS { try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) }
        if sendsBody { try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.sendBufferSize) }
    }

    package func applyOwn(to easy: EasyHandle) throws(TransferFailure) {
        if let acceptEncoding {
            try easy.set(CURLOPT_ACCEPT_ENCODING, acceptEncoding)
            try easy.set(CURLOPT_HTTP_CONTENT_DECODING, false)
        }
        easy.sharing.sendsLeft = maximumSends
        switch reuse {
        case .possible: break
        case .awaited: try easy.set(CURLOPT_PIPEWAIT, true)
        case .none: try easy.set(CURLOPT_FRESH_CONNECT, true)
        }
        switch closing {
        case .never: break
        case .unlessAnswered: try easy.closeConnectionUnlessAnswered()
        case .always: try easy.set(CURLOPT_FORBID_REUSE, true)
        }
        try applyVersionAndAuthentication(to: easy)
        try applyTarget(to: easy)
        try applyMethodAndBody(to: easy)
        try applyHeaders(to: easy)
        try inquiry?.apply(to: easy)
    }

    private func applyHeaders(to easy: EasyHandle) throws(TransferFailure) {
        if case .shared(let list) = lines, body != .known(0) { return try easy.set(list) }
        let headers = allHeaders
        if !headers.isEmpty { try easy.set(CURLOPT_HTTPHEADER, list: headers) }
    }

    private func applyVersionAndAuthentication(to easy: EasyHandle) throws(TransferFailure) {
        switch versionOverride {
        case .http1: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .joinsPriorKnowledge: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        case nil: break
        }
        if speaksHTTP2WithoutTLS {
            easy.sharing.priorKnowledge = versionOverride == .joinsPriorKnowledge ? .joins : .begins
        }
        if connectionAuthentication == .ntlm {
            try easy.set(CURLOPT_HTTPAUTH, CLIBCURL_AUTH_NTLM)
            if let (user, password) = credentials {
                try NTLMCredentials(user: user, password: password)
                    .apply(to: easy, user: CURLOPT_USERNAME, password: CURLOPT_PASSWORD)
            }
        }
        // A connection has one authentication state, which concurrent requests would share.
        if connectionAuthentication != nil { try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) }
        try proxy.apply(to: easy)
    }

    private func applyTarget(to easy: EasyHandle) throws(TransferFailure) {
        guard let requestTarget else { return }
        try easy.set(CURLOPT_REQUEST_TARGET, requestTarget)
        // libcurl 8.21 can't write such a host for a proxy, and fails (https://github.com/curl/curl/issues/22382). It needs no host for
        // anything else; it may need the rest, such as for a signature.
        guard requestTarget.hasPrefix("http://["), let end = requestTarget.firstIndex(of: "]") else { return }
        try easy.set(CURLOPT_URL, "http://address.invalid" + requestTarget[requestTarget.index(after: end)...])
    }

    private func applyMethodAndBody(to easy: EasyHandle) throws(TransferFailure) {
        // To libcurl, a HEAD with a body is an upload, and it waits for a response body: the handler ends the transfer after the head.
        // NTLM continues past that, so it sends HEAD without the body.
        let isHead = method == "HEAD" && (!sendsBody || connectionAuthentication == .ntlm)
        if isHead { return try easy.set(CURLOPT_NOBODY, true) }
        if sendsBody {
            try easy.set(CURLOPT_UPLOAD, true)
            if case .known(let length) = body { try easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        }
        if method != (sendsBody ? "PUT" : "GET") { try easy.set(CURLOPT_CUSTOMREQUEST, method) }
    }
}
