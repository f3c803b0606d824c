/// OpenSSL's functions for intervening in a handshake.
/// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_verify_callback/
/// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_cb/
struct HandshakeFunctions: Sendable {
    typealias Pointer = OpenSSL.Pointer
    typealias Verification = @convention(c) (Pointer?, Pointer?) -> Int32

    let setVerification: @convention(c) (Pointer, Verification, Pointer?) -> Void
    let setCertificateRequest: @convention(c) (Pointer, Verification, Pointer?) -> Void
    let setExtraData: @convention(c) (Pointer, Int32, Pointer?) -> Int32
    /// The slot in which contexts keep our object, released by `Callbacks.tlsContextFreed`.
    let extraDataIndex: Int32

    private let setVerifyMode: @convention(c) (Pointer, Int32, Pointer?) -> Void
    private let verifyCertificate: @convention(c) (Pointer) -> Int32
    private let error: @convention(c) (Pointer) -> Int32
    private let setError: @convention(c) (Pointer, Int32) -> Void
    private let errorText: @convention(c) (Int) -> UnsafePointer<CChar>?
    private let leaf: @convention(c) (Pointer) -> Pointer?
    private let untrusted: @convention(c) (Pointer) -> Pointer?
    private let checkHost: @convention(c) (Pointer, UnsafePointer<CChar>, Int, UInt32, Pointer?) -> Int32
    private let checkAddress: @convention(c) (Pointer, UnsafePointer<CChar>, UInt32) -> Int32
    private let decodeExtension: @convention(c) (Pointer, Int32, Pointer?, Pointer?) -> Pointer?
    private let nameValue: @convention(c) (Pointer, UnsafeMutablePointer<Int32>) -> Pointer?
    private let freeNames: @convention(c) (Pointer) -> Void
    private let authorities: @convention(c) (Pointer) -> Pointer?
    private let count: @convention(c) (Pointer?) -> Int32
    private let element: @convention(c) (Pointer?, Int32) -> Pointer?
    private let encodeCertificate: OpenSSL.Encoder
    private let encodeName: OpenSSL.Encoder

    static let loaded = try? HandshakeFunctions()

    // CRYPTO_EX_INDEX_SSL_CTX
    private static let contexts: Int32 = 1

    private init() throws(OpenSSL.Missing) {
        setVerification = try OpenSSL.function("SSL_CTX_set_cert_verify_callback")
        setCertificateRequest = try OpenSSL.function("SSL_CTX_set_cert_cb")
        setExtraData = try OpenSSL.function("SSL_CTX_set_ex_data")
        setVerifyMode = try OpenSSL.function("SSL_CTX_set_verify")
        verifyCertificate = try OpenSSL.function("X509_verify_cert")
        error = try OpenSSL.function("X509_STORE_CTX_get_error")
        setError = try OpenSSL.function("X509_STORE_CTX_set_error")
        errorText = try OpenSSL.function("X509_verify_cert_error_string")
        leaf = try OpenSSL.function("X509_STORE_CTX_get0_cert")
        untrusted = try OpenSSL.function("X509_STORE_CTX_get0_untrusted")
        checkHost = try OpenSSL.function("X509_check_host")
        checkAddress = try OpenSSL.function("X509_check_ip_asc")
        decodeExtension = try OpenSSL.function("X509_get_ext_d2i")
        nameValue = try OpenSSL.function("GENERAL_NAME_get0_value")
        freeNames = try OpenSSL.function("GENERAL_NAMES_free")
        authorities = try OpenSSL.function("SSL_get0_peer_CA_list")
        count = try OpenSSL.function("OPENSSL_sk_num")
        element = try OpenSSL.function("OPENSSL_sk_value")
        encodeCertificate = try OpenSSL.function("i2d_X509")
        encodeName = try OpenSSL.function("i2d_X509_NAME")
        extraDataIndex = try OpenSSL.slot(in: Self.contexts, free: Callbacks.tlsContextFreed)
    }

    // SSL_VERIFY_PEER
    private static let verifiesPeer: Int32 = 1

    /// Has handshakes of `context`, an `SSL_CTX`, end as soon as verification fails, as libcurl itself does before 8.17. Later versions
    /// (seen with 8.21) complete them and then look at the result: until then the server could ask for a certificate, and get it.
    /// https://github.com/curl/curl/pull/18703
    func endUnverified(_ context: Pointer) {
        setVerifyMode(context, Self.verifiesPeer, nil)
    }

    // MARK: - A verification in progress (`context` is an X509_STORE_CTX)

    /// Verifies the chain as OpenSSL would by itself, and that the server's own certificate has `name`; 0 is success.
    func verify(_ context: Pointer, _ name: CertificateName) -> Int32 {
        let isGood = verifyCertificate(context) == 1
        let result = error(context)
        guard isGood || result != 0 else {
            setResult(Int32(X509Result.unspecified), context)
            return Int32(X509Result.unspecified)
        }
        guard result == 0, !hasLeaf(context, for: name) else { return result }
        setResult(Int32(name.mismatch), context)
        return Int32(name.mismatch)
    }

    /// Sets the result that the handshake reports, and that `CURLINFO_SSL_VERIFYRESULT` returns later.
    func setResult(_ result: Int32, _ context: Pointer) {
        setError(context, result)
    }

    func text(of result: Int) -> String {
        errorText(result).map { String(cString: $0) } ?? "unknown"
    }

    /// `X509_CHECK_FLAG_NO_WILDCARDS` and `X509_CHECK_FLAG_NEVER_CHECK_SUBJECT`.
    private static let (noWildcards, neverSubject): (UInt32, UInt32) = (2, 32)

    /// As libcurl does it (RFC 9525 §6.3): the subject is a name or an address only if the certificate has neither besides.
    private func hasLeaf(_ context: Pointer, for name: CertificateName) -> Bool {
        guard let leaf = leaf(context) else { return false }
        if name.isAddress, checkAddress(leaf, name.text, 0) == 1 { return true }
        let hasNames = hasNames(leaf)
        // OpenSSL takes a host that begins with a dot for all names below the domain.
        guard !(name.isAddress && hasNames), !name.text.hasPrefix(".") else { return false }
        let flags = Self.noWildcards | (hasNames ? Self.neverSubject : 0)
        return name.forms.contains { checkHost(leaf, $0, 0, flags, nil) == 1 }
    }

    // NID_subject_alt_name, GEN_DNS and GEN_IPADD
    private static let (alternativeNames, name, address): (Int32, Int32, Int32) = (85, 2, 7)

    /// Whether `certificate` has any name or address besides its subject.
    private func hasNames(_ certificate: Pointer) -> Bool {
        guard let names = decodeExtension(certificate, Self.alternativeNames, nil, nil) else { return false }
        defer { freeNames(names) }
        return elements(names).contains { name in
            var kind: Int32 = 0
            _ = nameValue(name, &kind)
            return kind == Self.name || kind == Self.address
        }
    }

    /// `body`'s result for the server's own certificate (`X509`); nil if it has presented none.
    func withLeaf<Value>(of context: Pointer, _ body: (Pointer) -> Value?) -> Value? {
        leaf(context).flatMap(body)
    }

    /// The chain that the server presented, its own certificate first, in DER.
    func chain(_ context: Pointer) -> [[UInt8]] {
        let first = leaf(context).map { OpenSSL.encoded($0, encodeCertificate) }
        let all = elements(untrusted(context)).map { OpenSSL.encoded($0, encodeCertificate) }
        guard let first else { return all }
        return [first] + (all.first == first ? all.dropFirst() : all[...])
    }

    // MARK: - A connection (`ssl` is an SSL)

    /// The authorities from which the server accepts certificates: names in DER.
    func acceptableAuthorities(_ ssl: Pointer) -> [[UInt8]] {
        elements(authorities(ssl)).map { OpenSSL.encoded($0, encodeName) }
    }

    private func elements(_ stack: Pointer?) -> [Pointer] {
        guard let stack else { return [] }
        return (0..<max(0, count(stack))).compactMap { element(stack, $0) }
    }
}
