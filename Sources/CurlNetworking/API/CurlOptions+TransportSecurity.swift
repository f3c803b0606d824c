import Foundation

extension CurlOptions {
    /// Whether a session heeds HTTP Strict Transport Security (RFC 6797), and where it keeps what it learns. See <doc:TLS>.
    public enum StrictTransportSecurity: Sendable, Hashable {
        /// Requests go where they say.
        case off
        /// What responses say is known as long as the session lives.
        case inMemory
        /// What responses say is kept in this file, which later sessions read, and so do curl and libcurl. It needn't exist yet.
        ///
        /// It is read when the session is created, and written after news, not on the event loop, with mode 0600. Sessions of one process
        /// that name the same file share what they know. With a file that exists and can't be read, requests over http fail with
        /// `URLError.cannotOpenFile`. Source: [HSTS cache file format](https://curl.se/docs/hsts.html).
        case file(URL)
    }
}

extension CurlOptions.StrictTransportSecurity {
    func validate() throws(CurlOptionsError) {
        guard case .file(let url) = self, !url.isFileURL || url.hasDirectoryPath else { return }
        throw CurlOptionsError("strictTransportSecurity", "\(url.absoluteString) is no URL of a file.")
    }
}
