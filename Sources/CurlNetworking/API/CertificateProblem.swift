import Curl
import Foundation

/// Why a server's certificate isn't trusted.
public enum CertificateProblem: Sendable, Hashable {
    case expired
    case notYetValid
    /// No trusted authority stands at the end of the chain; a self-signed certificate has none either.
    case unknownRoot
    /// It is another host's.
    case wrongHost
    /// One of ``CurlOptions/TLSOptions/revocationLists`` names it.
    case revoked
    /// It is none of ``CurlOptions/HostOptions/publicKeyPins``.
    case otherPublicKey
    /// Anything else, as OpenSSL numbers it:
    /// [X509_STORE_CTX_get_error](https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/).
    case other(Int)
}

extension URLError {
    /// Why the server's certificate wasn't trusted, where that was the reason.
    public var certificateProblem: CertificateProblem? {
        let code = (userInfo[CurlErrorKey.code] as? Int).flatMap(UInt32.init(exactly:))
        return CertificateProblem(
            curlCode: code ?? 0,
            verification: userInfo[CurlErrorKey.verification] as? Int ?? 0,
            text: userInfo[CurlErrorKey.text] as? String ?? ""
        )
    }
}
