import Curl
import Foundation

/// A certificate with its private key, for servers that ask who is calling.
public struct TLSIdentity: Sendable, Hashable {
    /// Where a part of it is.
    public enum Source: Sendable, Hashable {
        /// In a file, which is read with every new connection.
        case file(URL)
        case data(Data)
    }

    let certificate: ClientCertificate

    /// Certificates in PEM, the one to show first and those of the authorities below it behind, and a key.
    ///
    /// - Parameters:
    ///   - certificates: One or more certificates.
    ///   - privateKey: The first certificate's key; nil where it is in the same place.
    ///   - passphrase: What the key is encrypted with, if it is.
    ///
    /// Source: [CURLOPT_SSLCERT](https://curl.se/libcurl/c/CURLOPT_SSLCERT.html),
    /// [CURLOPT_SSLKEY](https://curl.se/libcurl/c/CURLOPT_SSLKEY.html).
    public static func pem(
        certificates: Source,
        privateKey: Source? = nil,
        passphrase: String? = nil
    ) -> TLSIdentity {
        let key = privateKey.map(\.forCurl)
        return TLSIdentity(
            certificate: ClientCertificate(
                format: .pem,
                certificates: certificates.forCurl,
                key: key,
                passphrase: passphrase
            )
        )
    }

    /// A bundle in PKCS#12 (RFC 7292): a `.p12` or `.pfx` file.
    public static func pkcs12(_ bundle: Source, passphrase: String? = nil) -> TLSIdentity {
        let certificate = ClientCertificate(format: .pkcs12, certificates: bundle.forCurl, passphrase: passphrase)
        return TLSIdentity(certificate: certificate)
    }

    func validate(as name: String) throws(CurlOptionsError) {
        let sources = [certificate.certificates, certificate.key].compactMap(\.self)
        guard !sources.contains(.bytes([])) else { throw CurlOptionsError(name, "A part of it is empty.") }
        guard certificate.passphrase?.utf8.contains(0) != true else {
            throw CurlOptionsError(name, "The passphrase has a zero byte.")
        }
    }
}

extension TLSIdentity: CustomStringConvertible, CustomReflectable {
    /// Without the passphrase and the key.
    public var description: String { "TLSIdentity(\(certificate.format.rawValue))" }

    /// Nothing to look into: the passphrase and the key are in no dump.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TLSIdentity.Source {
    fileprivate var forCurl: ClientCertificate.Source {
        switch self {
        case .file(let url): .file(url.path)
        case .data(let data): .bytes(Array(data))
        }
    }
}
