import Foundation

/// Scheme, host and port of a URL, with the scheme's default port filled in (RFC 6454 §4).
struct Origin: Hashable, Sendable {
    let scheme: Scheme
    /// A name or address as `HostSpelling` has it. For a Unix socket its path, or "@" and its abstract name.
    let host: String
    /// 0 for a Unix socket.
    let port: Int

    /// nil unless `url` is an http or https URL with a host or a Unix socket.
    init?(_ url: URL) {
        if let origin = Origin(plain: url.absoluteString) {
            self = origin
        } else {
            self.init(url, where: \.isHTTP)
        }
    }

    /// The same for FTP: nil unless `url` is an ftp or ftps URL with a host.
    static func ofFTP(_ url: URL) -> Origin? {
        Origin(url, where: \.isFTP)
    }

    /// Where a stream task connects to; nil for a host that is neither a name nor an address, and for an invalid port.
    static func ofStream(host: String, port: Int) -> Origin? {
        guard (1...65_535).contains(port) else { return nil }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let authority = isBracketed ? host : HostSpelling.bracketed(host)
        // What is valid in an http URL is valid here.
        guard NameRules.isHost(isBracketed ? String(host.dropFirst().dropLast()) : host),
            let url = URL(string: "http://\(authority):\(port)/"), let origin = Origin(url)
        else { return nil }
        return Origin(scheme: .tcp, host: origin.host, port: port)
    }

    /// The same, of the request that stands for a stream task.
    static func ofStream(_ request: URLRequest) -> Origin? {
        guard let url = request.url, Scheme(url) == .tcp, let host = url.host(percentEncoded: false),
            let port = url.port
        else { return nil }
        return ofStream(host: host, port: port)
    }

    /// The origin of an absolute URL without user name, if the host is spelled in it as here. nil for all others, which have to be parsed
    /// by `URL`: each of its properties costs as much as this.
    init?(plain text: String) {
        var text = text
        let parts = text.withUTF8 { bytes -> (Scheme, String, Int)? in
            guard let (scheme, rest) = Self.takeScheme(from: bytes) else { return nil }
            let end = rest.firstIndex { !Self.isPlain($0) } ?? rest.count
            guard (1...HostSpelling.maximumLength).contains(end), let port = Self.port(rest[end...]) else {
                return nil
            }
            return (scheme, String(decoding: rest[..<end], as: UTF8.self), port)
        }
        guard let (scheme, host, port) = parts, let port = port == 0 ? scheme.defaultPort : port,
            HostSpelling.withoutShortForms(host) == host
        else { return nil }
        self.init(scheme: scheme, host: host, port: port)
    }

    /// Whether `text` is a URL of this origin, without user name, in which the host is spelled as here. False for some that are, such as
    /// FTP's.
    func begins(_ text: String) -> Bool {
        var (text, host) = (text, host)
        return text.withUTF8 { bytes in
            guard let (scheme, rest) = Self.takeScheme(from: bytes), scheme == self.scheme,
                host.withUTF8({ rest.starts(with: $0) }), let port = Self.port(rest[host.utf8.count...])
            else { return false }
            return (port == 0 ? scheme.defaultPort : port) == self.port
        }
    }

    /// The scheme at the beginning of a URL, and what follows "://"; nil for any but http and https in lower case.
    private static func takeScheme(
        from bytes: UnsafeBufferPointer<UInt8>
    ) -> (scheme: Scheme, rest: UnsafeBufferPointer<UInt8>)? {
        let text = UnsafeRawBufferPointer(bytes)
        let scheme: Scheme
        if text.hasPrefix("http://") {
            scheme = .http
        } else if text.hasPrefix("https://") {
            scheme = .https
        } else {
            return nil
        }
        return (scheme, UnsafeBufferPointer(rebasing: bytes[(scheme.rawValue.utf8.count + 3)...]))
    }

    /// The port in what follows a host; 0 for none. nil if anything but a port of digits lies between the host and the path.
    private static func port(_ rest: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var port = 0
        var digits = rest
        if digits.first == UInt8(ascii: ":") {
            digits.removeFirst()
            while let byte = digits.first, byte.isASCIIDigit {
                port = 10 * port + Int(byte - UInt8(ascii: "0"))
                guard port <= 65_535 else { return nil }
                digits.removeFirst()
            }
            guard port > 0 else { return nil }
        }
        switch digits.first {
        case nil, UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return port
        default: return nil
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    private init?(_ url: URL, where isRight: (Scheme) -> Bool) {
        guard let scheme = Scheme(url), isRight(scheme), let decodedHost = url.host(percentEncoded: false),
            !decodedHost.isEmpty
        else { return nil }
        self.scheme = scheme
        guard let defaultPort = scheme.defaultPort else {
            guard url.port == nil, UnixSocketURL.socket(named: decodedHost) != nil else { return nil }
            (host, port) = (decodedHost, 0)
            return
        }
        guard let host = HostSpelling.canonical(decodedHost), host.contains(":") || !Self.hasBrackets(url) else {
            return nil
        }
        self.host = host
        // Foundation has none for a number too large for an Int.
        port = url.port ?? (Self.hasPort(url) ? .max : defaultPort)
    }

    /// Whether its host is in brackets, which are for IPv6 addresses only (RFC 3986 §3.2.2), and which Foundation's `host` leaves out. A
    /// user name has none that aren't percent-encoded.
    private static func hasBrackets(_ url: URL) -> Bool {
        authority(of: url.absoluteString).contains(UInt8(ascii: "["))
    }

    private static func hasPort(_ url: URL) -> Bool {
        let authority = Self.authority(of: url.absoluteString)
        let digits = authority.reversed().prefix(while: \.isASCIIDigit)
        return !digits.isEmpty && authority.dropLast(digits.count).last == UInt8(ascii: ":")
    }

    private static func authority(of url: String) -> Substring.UTF8View {
        url.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { !"/?#".utf8.contains($0) }
    }

    /// A socket's name is compared by its bytes, as the system does. Every other host is ASCII.
    static func == (a: Self, b: Self) -> Bool {
        a.port == b.port && a.scheme == b.scheme && a.host == b.host
            && (!a.isUnixSocket || a.host.hasSameBytes(as: b.host))
    }

    private init(scheme: Scheme, host: String, port: Int) {
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    /// An origin with the same scheme.
    func at(_ host: String, port: Int) -> Origin {
        Origin(scheme: scheme, host: host, port: port)
    }

    /// The host as certificates name it.
    var certificateHost: String { isUnixSocket ? UnixSocketURL.authority : hostWithoutZone }

    /// The host without an IPv6 address's zone, which has a meaning only on this machine.
    var hostWithoutZone: String {
        host.contains(":") ? String(host.prefix { $0 != "%" }) : host
    }

    /// For the field `Host`, which has no zone (RFC 9110 §7.2, RFC 6874 §4).
    var hostField: String {
        if isUnixSocket { return UnixSocketURL.authority }
        return HostSpelling.bracketed(hostWithoutZone) + portSuffix
    }

    /// Host and port in the URL that libcurl gets. It is given a Unix socket separately.
    var authority: String {
        if isUnixSocket { return UnixSocketURL.authority }
        let isName = !host.utf8.contains(UInt8(ascii: ":"))
        return (isName ? host : "[\(host.replacingOccurrences(of: "%", with: "%25"))]") + portSuffix
    }

    private var portSuffix: String { port == scheme.defaultPort ? "" : ":\(port)" }

    var isFTP: Bool { scheme.isFTP }
    var isSecure: Bool { scheme.isSecure }
    var isUnixSocket: Bool { scheme.isUnixSocket }
    /// Whether it is a stream task's, with no protocol but its own.
    var isStream: Bool { scheme == .tcp }
    var usesTLS: Bool { scheme.usesTLS }
}
