import Foundation

/// Scheme, host and port of a URL, with the scheme's default port filled in (RFC 6454 §4).
struct Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int

    /// nil unless `url` is an http or https URL with a host.
    init?(_ url: URL) {
        self.init(url) { $0 == "http" ? 80 : $0 == "https" ? 443 : nil }
    }

    /// The same for FTP: nil unless `url` is an ftp or ftps URL with a host.
    static func ofFTP(_ url: URL) -> Origin? {
        Origin(url) { $0 == "ftp" ? 21 : $0 == "ftps" ? 990 : nil }
    }

    private init?(_ url: URL, portOf: (String) -> Int?) {
        guard let scheme = url.scheme?.lowercased(), let defaultPort = portOf(scheme),
            let host = url.host(percentEncoded: false)?.lowercased(), !host.isEmpty
        else { return nil }
        self.scheme = scheme
        // A name of another alphabet comes here in either form.
        let isASCII = host.utf8.allSatisfy { $0 < 0x80 }
        self.host = isASCII ? host : Punycode.asciiDomain(host.precomposedStringWithCanonicalMapping[...])
        port = url.port ?? defaultPort
    }

    var isFTP: Bool { scheme == "ftp" || scheme == "ftps" }
    var isSecure: Bool { scheme == "https" }
    var usesTLS: Bool { isSecure || scheme == "ftps" }
}
