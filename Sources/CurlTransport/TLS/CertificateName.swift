/// The name or address that a server's certificate must have (RFC 9525 §6.1).
struct CertificateName: Sendable, Equatable {
    /// Without the dot at the end of an absolute name.
    let text: String
    let isAddress: Bool

    /// - Parameter host: A name, or an address in its usual form, without brackets or zone.
    init(host: String) {
        text = host.hasSuffix(".") ? String(host.dropLast()) : host
        isAddress = text.isNumericAddress
    }

    /// The wildcard that covers it, as libcurl understands wildcards: in place of the whole first label, and below two others. To OpenSSL,
    /// none covers a name with an underscore. nil if there is none.
    var wildcard: String? {
        guard !isAddress, let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")),
            text.utf8[dot...].dropFirst().contains(UInt8(ascii: "."))
        else { return nil }
        return "*" + text[dot...]
    }

    /// The names in certificates that stand for it, as libcurl understands them: they may have the dot of an absolute name.
    var forms: [String] { [text, wildcard].compactMap(\.self).flatMap { [$0, $0 + "."] } }

    /// The result of verifying a certificate that lacks it.
    var mismatch: Int { isAddress ? X509Result.addressMismatch : X509Result.hostnameMismatch }
}
