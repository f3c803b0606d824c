import CurlTransport
import Foundation

/// A certificate with its private key, for servers that authenticate their clients.
///
/// Encoding includes the passphrase and any key given as data; descriptions don't.
public struct TLSIdentity: Sendable, Hashable, Codable {
    /// A source of part of an identity.
    public enum Source: Sendable, Hashable {
        /// A file, which is read for every new connection.
        case file(URL)
        /// Bytes in memory.
        case data(Data)
    }

    let certificate: ClientCertificate

    /// An identity from certificates and a key in PEM.
    ///
    /// - Parameters:
    ///   - certificates: The client's certificate, then those of intermediate authorities, if any.
    ///   - privateKey: The client certificate's key; nil if it is in the same place as the certificates.
    ///   - passphrase: The passphrase of an encrypted key. There is no prompt: without it, the key can't be used.
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

    /// An identity from a PKCS#12 bundle (RFC 7292): a `.p12` or `.pfx` file.
    public static func pkcs12(_ bundle: Source, passphrase: String? = nil) -> TLSIdentity {
        let certificate = ClientCertificate(format: .pkcs12, certificates: bundle.forCurl, passphrase: passphrase)
        return TLSIdentity(certificate: certificate)
    }

    func validate(as name: String) throws(CurlOptionsError) {
        let sources = [certificate.certificates, certificate.key].compactMap(\.self)
        guard !sources.contains(.bytes([])) else { throw CurlOptionsError(name, "A part of it is empty.") }
        guard !sources.contains(.noFile) else { throw CurlOptionsError(name, "A part of it isn't the URL of a file.") }
        guard certificate.passphrase?.utf8.contains(0) != true else {
            throw CurlOptionsError(name, "The passphrase contains a zero byte.")
        }
    }
}

extension TLSIdentity: CustomStringConvertible, CustomReflectable {
    /// The format only, without the passphrase or the key.
    public var description: String { "TLSIdentity(\(certificate.format.rawValue))" }

    /// Empty, so that no dump shows the passphrase or the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TLSIdentity.Source {
    fileprivate var forCurl: ClientCertificate.Source {
        switch self {
        case .file(let url): url.isFileURL ? .file(url.path) : .noFile
        case .data(let data): .bytes(Array(data))
        }
    }
}

extension ClientCertificate.Source {
    /// Stands for a URL that isn't a file's, so that using it fails: no file has an empty path.
    fileprivate static let noFile = ClientCertificate.Source.file("")
}
