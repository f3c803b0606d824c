import CCurlNetworkingLibcurl

/// The result of a TLS handshake, as numbers from IANA's registry.
/// https://www.iana.org/assignments/tls-parameters/tls-parameters.xhtml
package struct TLSSession: Sendable, Equatable, Codable {
    /// 0x0304 is TLS 1.3.
    package var protocolVersion: UInt16
    /// 0x1301 is TLS_AES_128_GCM_SHA256.
    package var cipherSuite: UInt16

    package init(protocolVersion: UInt16, cipherSuite: UInt16) {
        self.protocolVersion = protocolVersion
        self.cipherSuite = cipherSuite
    }
}

extension TLSSession {
    /// The session of the connection (`SSL *`); nil before the handshake is over.
    init?(of connection: OpenSSL.Pointer) {
        guard let session = SessionFunctions.loaded?.session(of: connection) else { return nil }
        self = session
    }
}

extension TransferInfo {
    /// The session of the transfer's current connection; nil without TLS, and if libcurl uses a library other than OpenSSL. Read-only, so
    /// it may be called within libcurl, and mostly must be: a finished transfer no longer has a connection.
    /// https://curl.se/libcurl/c/CURLINFO_TLS_SSL_PTR.html
    package var tlsSession: TLSSession? {
        openSSLSession.flatMap { SessionFunctions.loaded?.session(of: $0) }
    }

    /// OpenSSL's `SSL *`.
    var openSSLSession: UnsafeRawPointer? {
        var pointer: UnsafeMutableRawPointer?
        guard clibcurl_easy_get_pointer(handle, CURLINFO_TLS_SSL_PTR, &pointer) == CURLE_OK,
            let information = pointer?.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee,
            information.backend == CURLSSLBACKEND_OPENSSL, let ssl = information.internals
        else { return nil }
        return UnsafeRawPointer(ssl)
    }

    /// Whether OpenSSL has decrypted more of the connection's data than libcurl has read. Within libcurl.
    var hasTLSLeftovers: Bool {
        openSSLSession.flatMap { SessionFunctions.loaded?.hasPending($0) } ?? false
    }

    /// The protocol that TLS negotiated for the transfer's current connection, such as "h2" (RFC 7301); nil if unknown. Within libcurl.
    package var negotiatedProtocol: String? {
        openSSLSession.flatMap { SessionFunctions.loaded?.negotiatedProtocol(of: $0) }
    }
}

private struct SessionFunctions: Sendable {
    private let version: @convention(c) (UnsafeRawPointer) -> Int32
    private let currentCipher: @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer?
    private let protocolID: @convention(c) (UnsafeRawPointer) -> UInt16
    private let selectedProtocol: SelectedProtocol
    private let pending: @convention(c) (UnsafeRawPointer) -> Int32

    private typealias SelectedProtocol =
        @convention(c) (
            UnsafeRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt32>
        ) -> Void

    static let loaded = try? SessionFunctions()

    private init() throws(OpenSSL.Missing) {
        version = try OpenSSL.function("SSL_version")
        currentCipher = try OpenSSL.function("SSL_get_current_cipher")
        protocolID = try OpenSSL.function("SSL_CIPHER_get_protocol_id")
        selectedProtocol = try OpenSSL.function("SSL_get0_alpn_selected")
        pending = try OpenSSL.function("SSL_has_pending")
    }

    func hasPending(_ ssl: UnsafeRawPointer) -> Bool {
        pending(ssl) != 0
    }

    func session(of ssl: UnsafeRawPointer) -> TLSSession? {
        guard let cipher = currentCipher(ssl), let version = UInt16(exactly: version(ssl)) else { return nil }
        return TLSSession(protocolVersion: version, cipherSuite: protocolID(cipher))
    }

    func negotiatedProtocol(of ssl: UnsafeRawPointer) -> String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        selectedProtocol(ssl, &name, &length)
        return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
    }
}
