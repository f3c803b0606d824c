import CurlTransport
import Foundation

extension CurlOptions {
    /// Options for the certificates to trust and to present, and for encryption. See <doc:TLS>.
    ///
    /// Files are read when they are first needed. If a file can't be read, the tasks that need it fail with
    /// `URLError.secureConnectionFailed`, or with `URLError.clientCertificateRejected` if it belongs to an identity, and the error says so.
    /// An identity's files are reread for each connection, authorities and revocation lists after they have changed.
    public struct TLSOptions: Sendable, Hashable {
        /// A source of certificate authorities' certificates.
        public enum CertificateSource: Sendable, Hashable, Codable {
            /// A file with certificates in PEM, or a single one in DER.
            case file(URL)
            /// A directory of PEM files named after the hashes of their subjects, as made by `openssl rehash`.
            case directory(URL)
            /// Certificates in PEM, or a single one in DER.
            case data(Data)
        }

        /// The authorities to trust; nil, the default, for the system's.
        ///
        /// The system's authorities are those that libcurl was built with, unless the environment names others when the session is created:
        /// `SSL_CERT_FILE` a file, `SSL_CERT_DIR` one or more directories separated by colons, some of which may be missing. If either is
        /// set, nothing else is trusted, also for proxies with the scheme https that have no authorities of their own. The files are read
        /// when a connection needs them, and again after they have changed. Source:
        /// [CURLOPT_CAINFO](https://curl.se/libcurl/c/CURLOPT_CAINFO.html),
        /// [SSL_CERT_FILE](https://docs.openssl.org/3.0/man3/X509_get_default_cert_file/).
        public var trustRoots: [CertificateSource]?

        /// Authorities to trust in addition to ``trustRoots``. None by default.
        ///
        /// Needs a libcurl that uses OpenSSL.
        public var additionalTrustRoots: [CertificateSource] = []

        /// Files with certificate revocation lists, PEM or DER. None by default.
        ///
        /// If there are any, every certificate of a chain must be covered by a currently valid list from its issuer (RFC 5280 §6.3). Needs
        /// a libcurl that uses OpenSSL. Source: [CURLOPT_CRLFILE](https://curl.se/libcurl/c/CURLOPT_CRLFILE.html).
        public var revocationLists: [URL] = []

        /// The client certificate for servers that ask for one; nil, the default, for none.
        public var identity: TLSIdentity?

        /// The minimum TLS version; overrides ``URLSessionConfiguration/tlsMinimumSupportedProtocolVersion``.
        public var minimumVersion: tls_protocol_version_t?

        /// The maximum TLS version; overrides ``URLSessionConfiguration/tlsMaximumSupportedProtocolVersion``.
        public var maximumVersion: tls_protocol_version_t?

        /// The cipher suites of TLS 1.2 and older, by their OpenSSL names, in order of preference; nil, the default, for libcurl's.
        ///
        /// Source: [CURLOPT_SSL_CIPHER_LIST](https://curl.se/libcurl/c/CURLOPT_SSL_CIPHER_LIST.html).
        public var cipherSuites: [String]?

        /// The cipher suites of TLS 1.3, by their OpenSSL names, such as `"TLS_AES_128_GCM_SHA256"`, in order of preference; nil for
        /// libcurl's.
        ///
        /// Source: [CURLOPT_TLS13_CIPHERS](https://curl.se/libcurl/c/CURLOPT_TLS13_CIPHERS.html).
        public var tls13CipherSuites: [String]?

        /// Creates the default options.
        public init() {}
    }
}

// MARK: - Coding

extension CurlOptions.TLSOptions: Codable {
    private enum CodingKeys: String, CodingKey {
        case trustRoots, additionalTrustRoots, revocationLists, identity, minimumVersion, maximumVersion, cipherSuites
        case tls13CipherSuites
    }

    /// Decodes options written by `encode(to:)`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        trustRoots = try container.decodeIfPresent([CertificateSource].self, forKey: .trustRoots)
        additionalTrustRoots = try container.decode([CertificateSource].self, forKey: .additionalTrustRoots)
        revocationLists = try container.decode([URL].self, forKey: .revocationLists)
        identity = try container.decodeIfPresent(TLSIdentity.self, forKey: .identity)
        minimumVersion = try Self.version(in: container, .minimumVersion)
        maximumVersion = try Self.version(in: container, .maximumVersion)
        cipherSuites = try container.decodeIfPresent([String].self, forKey: .cipherSuites)
        tls13CipherSuites = try container.decodeIfPresent([String].self, forKey: .tls13CipherSuites)
    }

    /// Encodes the options, including the identity's passphrase.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(trustRoots, forKey: .trustRoots)
        try container.encode(additionalTrustRoots, forKey: .additionalTrustRoots)
        try container.encode(revocationLists, forKey: .revocationLists)
        try container.encodeIfPresent(identity, forKey: .identity)
        try container.encodeIfPresent(minimumVersion?.rawValue, forKey: .minimumVersion)
        try container.encodeIfPresent(maximumVersion?.rawValue, forKey: .maximumVersion)
        try container.encodeIfPresent(cipherSuites, forKey: .cipherSuites)
        try container.encodeIfPresent(tls13CipherSuites, forKey: .tls13CipherSuites)
    }

    private static func version(
        in container: KeyedDecodingContainer<CodingKeys>,
        _ key: CodingKeys
    ) throws -> tls_protocol_version_t? {
        guard let number = try container.decodeIfPresent(UInt16.self, forKey: key) else { return nil }
        guard let version = tls_protocol_version_t(rawValue: number) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not a version of TLS")
        }
        return version
    }
}

// MARK: - Validation

extension CurlOptions.TLSOptions {
    func validate(as name: String) throws(CurlOptionsError) {
        for (property, sources) in [("trustRoots", trustRoots ?? []), ("additionalTrustRoots", additionalTrustRoots)] {
            if let fault = sources.lazy.compactMap(\.fault).first {
                throw CurlOptionsError("\(name).\(property)", fault)
            }
        }
        if let list = revocationLists.first(where: { !$0.isFileURL }) {
            throw CurlOptionsError("\(name).revocationLists", "\(list.absoluteString) isn't the URL of a file.")
        }
        if trustRoots?.isEmpty == true, additionalTrustRoots.isEmpty {
            throw CurlOptionsError("\(name).trustRoots", "Without any authority, no server can be trusted.")
        }
        if let content = trustContent(environment: [:]), !content.isPortable, !CurlLibrary.decidesTrust {
            let reason =
                "This needs a libcurl with OpenSSL 1.1.1 or newer; the linked one has \(CurlLibrary.tlsLibrary)."
            throw CurlOptionsError("\(name).additionalTrustRoots", reason)
        }
        for (property, suites) in [("cipherSuites", cipherSuites), ("tls13CipherSuites", tls13CipherSuites)] {
            guard let suites else { continue }
            guard !suites.isEmpty, suites.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(0) }) else {
                throw CurlOptionsError("\(name).\(property)", "The list, or a name in it, is empty.")
            }
        }
        try Self.validate(minimumVersion, maximumVersion, as: name)
        try identity?.validate(as: "\(name).identity")
    }

    static func validate(
        _ minimum: tls_protocol_version_t?,
        _ maximum: tls_protocol_version_t?,
        as name: String
    ) throws(CurlOptionsError) {
        let numbers = [minimum, maximum].compactMap { $0?.rawValue }
        guard numbers.allSatisfy({ (0x0301...0x0304).contains($0) }) else {
            throw CurlOptionsError("\(name).minimumVersion", "DTLS is for datagrams.")
        }
        guard numbers == numbers.sorted() else {
            throw CurlOptionsError("\(name).minimumVersion", "It is newer than the maximum.")
        }
    }
}

extension CurlOptions.TLSOptions.CertificateSource {
    /// A fault that is evident without reading a file.
    fileprivate var fault: String? {
        switch self {
        case .file(let url): url.isFileURL ? nil : "\(url.absoluteString) isn't the URL of a file."
        case .directory(let url): url.isFileURL ? nil : "\(url.absoluteString) isn't the URL of a folder."
        case .data(let data):
            PEM.certificates(in: data).isEmpty ? "The data has no certificate, neither in PEM nor in DER." : nil
        }
    }
}

extension CurlOptions {
    /// One line for each entry whose servers aren't verified.
    var warnings: [String] {
        hosts.patterns.sorted().filter { hosts[$0].trustsAnyCertificate == true }.map { pattern in
            "CurlNetworking: certificates of \"\(pattern)\" are not verified (trustsAnyCertificate): anyone can impersonate it"
        }
    }
}

extension CurlOptions.HostOptions {
    /// Pins must have libcurl's form.
    func validateTLS(as name: String) throws(CurlOptionsError) {
        try tls?.validate(as: "\(name).tls")
        guard let publicKeyPins else { return }
        let areGood = publicKeyPins.allSatisfy { pin in
            pin.hasPrefix("sha256//") && Data(base64Encoded: String(pin.dropFirst(8)))?.count == 32
        }
        guard !publicKeyPins.isEmpty, areGood else {
            throw CurlOptionsError("\(name).publicKeyPins", "A pin is \"sha256//\" and the base64 of 32 bytes.")
        }
    }
}
