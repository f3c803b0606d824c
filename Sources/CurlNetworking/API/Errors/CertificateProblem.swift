import CurlTransport
import Foundation

/// Why a server's certificate isn't trusted.
public enum CertificateProblem: Sendable, Hashable, Codable {
    /// It has expired.
    case expired
    /// It isn't valid yet.
    case notYetValid
    /// The chain doesn't end at a trusted authority, as with a self-signed certificate.
    case unknownRoot
    /// It belongs to another host.
    case wrongHost
    /// One of ``CurlOptions/TLSOptions/revocationLists`` names it.
    case revoked
    /// Its public key matches none of ``CurlOptions/HostOptions/publicKeyPins``.
    case otherPublicKey
    /// Anything else, as OpenSSL numbers it:
    /// [X509_STORE_CTX_get_error](https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/).
    case other(Int)
}

extension URLError {
    /// Why the server's certificate wasn't trusted; nil for any other error.
    public var certificateProblem: CertificateProblem? {
        guard let code = (userInfo[CurlErrorKey.code] as? Int).flatMap(UInt32.init(exactly:)) else { return nil }
        return CertificateProblem(
            CurlCode(rawValue: code),
            verification: userInfo[CurlErrorKey.verification] as? Int ?? 0,
            text: userInfo[CurlErrorKey.text] as? String ?? ""
        )
    }
}
