import CurlTransport
import Foundation

/// The reason a server's certificate isn't trusted.
public enum CertificateProblem: Sendable, Hashable, Codable {
    /// The certificate has expired.
    case expired
    /// The certificate isn't valid yet.
    case notYetValid
    /// The chain doesn't end at a trusted authority, as with a self-signed certificate.
    case unknownRoot
    /// The certificate is for another host.
    case wrongHost
    /// The certificate is on one of ``CurlOptions/TLSOptions/revocationLists``.
    case revoked
    /// The certificate's public key matches none of ``CurlOptions/HostOptions/publicKeyPins``.
    case otherPublicKey
    /// Any other reason, by OpenSSL's number:
    /// [X509_STORE_CTX_get_error](https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/).
    case other(Int)
}

extension URLError {
    /// The reason the server's certificate wasn't trusted; nil for any other error.
    public var certificateProblem: CertificateProblem? {
        guard let code = (userInfo[CurlErrorKey.code] as? Int).flatMap(UInt32.init(exactly:)) else { return nil }
        return CertificateProblem(
            CurlCode(rawValue: code),
            verification: userInfo[CurlErrorKey.verification] as? Int ?? 0,
            text: userInfo[CurlErrorKey.text] as? String ?? ""
        )
    }
}
