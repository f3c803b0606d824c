import CLibcurl

/// Everything libcurl is told about one transfer from or to an FTP server. A value that knows how to write itself onto an easy
/// handle.
package struct FTPOptions: EasyOptions, Sendable {
    package enum Direction: Sendable, Equatable {
        /// RETR, or LIST where the path ends with a slash; from `offset` on, in bytes.
        case download(offset: Int64)
        /// MDTM and SIZE alone.
        case attributes
        /// STOR.
        case upload(TransferOptions.Body)
    }

    /// Without user name and password.
    package var url: String
    package var direction: Direction
    /// Without them libcurl logs in as "anonymous".
    package var credentials: (user: String, password: String)?
    /// How long libcurl waits for a reply before it gives up; it counts whole seconds.
    package var replyTimeout: Duration = .seconds(60)
    /// nil for nothing beyond the defaults.
    package var connection: ConnectionProfile?

    package init(url: String, direction: Direction) {
        self.url = url
        self.direction = direction
    }

    /// Whether TLS begins with the connection.
    package var isSecure: Bool { url.prefix(4).lowercased() == "ftps" }

    package var sendsBody: Bool {
        if case .upload = direction { true } else { false }
    }

    /// In bytes.
    private static let bufferSize = 64 * 1024

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_URL, url)
        try easy.set(CURLOPT_PATH_AS_IS, true)
        try easy.set(CURLoption(UInt32(CLIBCURL_OPT_PROTOCOLS)), Int(CURLPROTO_FTP) | Int(CURLPROTO_FTPS))
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        try easy.set(CURLOPT_BUFFERSIZE, Self.bufferSize)
        // A server can't have us connect to another machine than its own.
        try easy.set(CURLOPT_FTP_SKIP_PASV_IP, true)
        try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Int(min(max(1, replyTimeout.components.seconds), 60)))
        if CurlLibrary.isAtLeast(7, 87) { try easy.set(CURLoption(UInt32(CLIBCURL_OPT_QUICK_EXIT)), true) }
        if CurlLibrary.hasCAFile { try easy.clear(CURLOPT_CAPATH) }
        if let credentials {
            try easy.set(CURLOPT_USERNAME, credentials.user)
            try easy.set(CURLOPT_PASSWORD, credentials.password)
        }
        // Without one libcurl would look into the environment each time.
        try easy.set(CURLOPT_PROXY, "")
        try connection?.apply(to: easy)
        switch direction {
        case .download(let offset):
            try easy.set(CURLOPT_FILETIME, true)
            if offset > 0 { try easy.set(CURLOPT_RESUME_FROM_LARGE, offset: offset) }
        case .attributes:
            try easy.set(CURLOPT_FILETIME, true)
            try easy.set(CURLOPT_NOBODY, true)
        case .upload(let body):
            try easy.set(CURLOPT_UPLOAD, true)
            if case .known(let length) = body { try easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        }
        try connection?.apply(to: easy)
    }
}
