import Foundation

extension CurlOptions {
    /// Whether a session applies HTTP Strict Transport Security (RFC 6797), and where it stores hosts' policies. See <doc:TLS>.
    public enum StrictTransportSecurity: Sendable, Hashable, Codable {
        /// The session ignores the header field, and requests use the scheme of their URLs.
        case off
        /// Responses' policies are kept for the lifetime of the session.
        case inMemory
        /// Responses' policies are kept in this file, for later sessions and for curl and libcurl. It needn't exist yet.
        ///
        /// The file is read when the session is created; after changes, it is reread and then written with mode 0600, off the event loop.
        /// Sessions of one process that name the same file share its entries. If the file exists but can't be read, http requests fail with
        /// `URLError.cannotOpenFile`. Source: [HSTS cache file format](https://curl.se/docs/hsts.html).
        case file(URL)
    }
}

extension CurlOptions.StrictTransportSecurity {
    func validate() throws(CurlOptionsError) {
        guard case .file(let url) = self, !url.isFileURL else { return }
        throw CurlOptionsError("strictTransportSecurity", "\(url.absoluteString) isn't the URL of a file.")
    }
}
