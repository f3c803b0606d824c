import Foundation

/// A scheme that a session loads without a protocol class.
enum Scheme: String, CaseIterable, Hashable, Sendable {
    case http
    case https
    case ftp
    case ftps
    case file
    case data
    case httpUnix = "http+unix"
    case httpsUnix = "https+unix"
    /// A stream task's host and port. No request may have it.
    case tcp

    /// nil for any other scheme. Schemes are ASCII, and their case doesn't matter (RFC 3986 §3.1).
    init?(_ text: String) {
        guard let scheme = Self.allCases.first(where: { $0.rawValue.isEqualIgnoringASCIICase(to: text) }) else {
            return nil
        }
        self = scheme
    }

    /// The scheme of `url`; nil if it has another or none.
    init?(_ url: URL) {
        guard let text = url.scheme else { return nil }
        self.init(text)
    }

    /// Whether HTTP is spoken, over TCP or a Unix socket, with or without TLS.
    var isHTTP: Bool { transport == .http || isSecure }

    /// Whether FTP is spoken, with or without TLS.
    var isFTP: Bool { self == .ftp || self == .ftps }

    /// Whether HTTP is spoken over TLS.
    var isSecure: Bool { transport == .https }

    /// Whether the connection uses TLS.
    var usesTLS: Bool { isSecure || self == .ftps }

    /// Whether the host names a Unix socket.
    var isUnixSocket: Bool { transport != self }

    /// The scheme passed to libcurl, which is told about a Unix socket separately.
    var transport: Scheme {
        switch self {
        case .httpUnix: .http
        case .httpsUnix: .https
        case .http, .https, .ftp, .ftps, .file, .data, .tcp: self
        }
    }

    /// The TCP port of a URL that names none; nil if the scheme has no ports.
    var defaultPort: Int? {
        switch self {
        case .http: 80
        case .https: 443
        case .ftp: 21
        case .ftps: 990
        case .file, .data, .httpUnix, .httpsUnix, .tcp: nil
        }
    }
}
