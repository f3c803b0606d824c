import CCurlNetworkingLibcurl

/// TLS options, except for the trusted authorities.
package struct TLSSettings: ConnectionSettings, Hashable {
    /// As on the wire: 0x0303 is TLS 1.2, which nil stands for.
    package var minimumVersion: UInt16?
    package var maximumVersion: UInt16?
    /// An OpenSSL cipher list, for TLS 1.2 and below.
    package var cipherList: String?
    /// An OpenSSL list of TLS 1.3 cipher suites.
    package var cipherSuites: String?
    /// Such as "sha256//…;sha256//…".
    package var publicKeyPins: String?
    package var clientCertificate: ClientCertificate?
    /// The host that a server's certificate must be for before it is shown `clientCertificate`: a name, or an address in its usual form,
    /// without brackets or zone. nil leaves that to libcurl, which compares them after the handshake.
    package var clientCertificateHost: String?
    package var verifiesServer = true

    package init() {}

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        if minimumVersion != nil || maximumVersion != nil {
            let minimum = minimumVersion.map(Self.minimum) ?? Self.defaultVersions
            let maximum = maximumVersion.map(Self.maximum) ?? Int(CURL_SSLVERSION_MAX_DEFAULT)
            try easy.set(CURLOPT_SSLVERSION, minimum | maximum)
        }
        if let cipherList { try easy.set(CURLOPT_SSL_CIPHER_LIST, cipherList) }
        if let cipherSuites { try easy.set(CURLOPT_TLS13_CIPHERS, cipherSuites) }
        if let publicKeyPins { try easy.set(CURLOPT_PINNEDPUBLICKEY, publicKeyPins) }
        easy.tls.verifiesServer = verifiesServer
        if !verifiesServer {
            try easy.set(CURLOPT_SSL_VERIFYPEER, false)
            try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        try clientCertificate?.apply(to: easy)
        if verifiesServer, let host = clientCertificateHost { try easy.verifyBeforeShowingCertificate(to: host) }
    }

    /// No older version than TLS 1.2.
    static let defaultVersions = Int(CURL_SSLVERSION_TLSv1_2)

    private static func minimum(_ version: UInt16) -> Int {
        switch version {
        case 0x0304: Int(CURL_SSLVERSION_TLSv1_3)
        case 0x0303: Int(CURL_SSLVERSION_TLSv1_2)
        case 0x0302: Int(CURL_SSLVERSION_TLSv1_1)
        default: Int(CURL_SSLVERSION_TLSv1_0)
        }
    }

    private static func maximum(_ version: UInt16) -> Int {
        switch version {
        case 0x0304: Int(CURL_SSLVERSION_MAX_TLSv1_3)
        case 0x0303: Int(CURL_SSLVERSION_MAX_TLSv1_2)
        case 0x0302: Int(CURL_SSLVERSION_MAX_TLSv1_1)
        default: Int(CURL_SSLVERSION_MAX_TLSv1_0)
        }
    }
}

/// A client certificate and its key, shown to a server that requests one.
package struct ClientCertificate: ConnectionSettings, Hashable, Codable {
    package enum Source: Sendable, Hashable, Codable {
        case file(String)
        case bytes([UInt8])
    }

    package enum Format: String, Sendable, Codable {
        case pem = "PEM"
        case pkcs12 = "P12"
    }

    package var format: Format
    /// Including the intermediate authorities'.
    package var certificates: Source
    /// nil if it is in the same file as the certificates.
    package var key: Source?
    package var passphrase: String?

    package init(format: Format, certificates: Source, key: Source? = nil, passphrase: String? = nil) {
        self.format = format
        self.certificates = certificates
        self.key = key
        self.passphrase = passphrase
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.set(CURLOPT_SSLCERTTYPE, format.rawValue)
        try easy.set(CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, certificates)
        if let key { try easy.set(CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, key) }
        // Without one, OpenSSL would ask for it at the terminal, on the event loop, and libcurl would crash on a key in memory.
        try easy.set(CURLOPT_KEYPASSWD, passphrase ?? "")
        try easy.verifyBeforeShowingCertificate()
    }
}

extension EasyHandle {
    fileprivate func set(
        _ fileOption: CURLoption,
        _ blobOption: CURLoption,
        _ source: ClientCertificate.Source
    ) throws(TransferFailure) {
        switch source {
        case .file(let path): try set(fileOption, path)
        case .bytes(let bytes): try set(blobOption, bytes)
        }
    }
}
