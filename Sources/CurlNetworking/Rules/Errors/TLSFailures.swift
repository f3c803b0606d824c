import CurlTransport
import Foundation

// TLS failures that libcurl's code alone doesn't distinguish.

extension CertificateProblem {
    /// nil if OpenSSL found no problem.
    init?(verification: Int) {
        switch verification {
        case 0: return nil
        case X509Result.expired, X509Result.badNotAfter: self = .expired
        case X509Result.notYetValid, X509Result.badNotBefore: self = .notYetValid
        case X509Result.revoked: self = .revoked
        case X509Result.hostnameMismatch, X509Result.addressMismatch: self = .wrongHost
        case let code where X509Result.unknownRoots.contains(code): self = .unknownRoot
        default: self = .other(verification)
        }
    }

    /// nil if the transfer failed for another reason.
    init?(_ code: CurlCode, verification: Int, text: String) {
        switch code {
        // libcurl compares the host itself, and reports a mismatch only in its text.
        case .peerFailedVerification where verification <= X509Result.unspecified && text.contains("subject name"):
            self = .wrongHost
        case .peerFailedVerification:
            self = CertificateProblem(verification: verification) ?? .other(X509Result.unspecified)
        case .sslPinnedPubKeyNotMatch: self = .otherPublicKey
        default: return nil
        }
    }

    var errorCode: URLError.Code {
        switch self {
        case .expired: .serverCertificateHasBadDate
        case .notYetValid: .serverCertificateNotYetValid
        case .unknownRoot: .serverCertificateHasUnknownRoot
        case .wrongHost, .revoked, .otherPublicKey, .other: .serverCertificateUntrusted
        }
    }
}

extension TransferFailure {
    /// OpenSSL's number for why the server's certificate isn't trusted, even if libcurl itself found it to be another host's; 0 for no
    /// reason.
    var openSSLVerification: Int {
        guard verification <= X509Result.unspecified,
            CertificateProblem(code, verification: verification, text: text) == .wrongHost
        else { return verification }
        // "… target host name '127.0.0.1'"
        let host = text.split(separator: "'").last.map(String.init) ?? ""
        return IPAddress(host) == nil ? X509Result.hostnameMismatch : X509Result.addressMismatch
    }
}

/// An alert with which the peer ended a TLS connection (RFC 8446 §6).
struct TLSAlert: Equatable {
    var number: Int

    /// nil unless libcurl's `text` has OpenSSL's error for a received alert, such as "error:0A00045C:SSL routines::…".
    init?(in text: String) {
        // Newer versions prefix it with "TLS connect error: ".
        guard let start = text.range(of: "error:", options: .backwards) else { return nil }
        let digits = text[start.upperBound...].prefix { $0.isHexDigit }
        guard digits.count == 8, let code = UInt32(digits, radix: 16) else { return nil }
        // OpenSSL 3 has the library's number from bit 23 on, 1.1.1 from bit 24.
        guard code >> 23 == Self.sslLibrary || code >> 24 == Self.sslLibrary else { return nil }
        let reason = Int(code & 0xFFF)
        guard (1000..<1256).contains(reason) else { return nil }
        number = reason - 1000
    }

    private static let sslLibrary: UInt32 = 20

    /// nil for alerts that aren't about the client's certificate.
    var errorCode: URLError.Code? {
        switch number {
        // certificate_required
        case 116: .clientCertificateRequired
        // bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown, unknown_ca,
        // access_denied
        case 42...46, 48, 49: .clientCertificateRejected
        default: nil
        }
    }
}
