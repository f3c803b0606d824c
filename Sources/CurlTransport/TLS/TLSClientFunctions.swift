/// OpenSSL's functions for speaking TLS without a socket. https://docs.openssl.org/3.0/man3/SSL_set_bio/
struct TLSClientFunctions: Sendable {
    typealias Pointer = OpenSSL.Pointer
    typealias Bytes = UnsafeRawPointer
    typealias Free = @convention(c) (Pointer) -> Void

    // MARK: - Contexts and connections (`SSL_CTX` and `SSL`)

    let clientMethod: @convention(c) () -> Pointer?
    let newContext: @convention(c) (Pointer) -> Pointer?
    let freeContext: Free
    let setOptions: @convention(c) (Pointer, UInt) -> UInt
    let setVerifyMode: @convention(c) (Pointer, Int32, Pointer?) -> Void
    let setCipherList: @convention(c) (Pointer, UnsafePointer<CChar>) -> Int32
    let setCipherSuites: @convention(c) (Pointer, UnsafePointer<CChar>) -> Int32
    let controlContext: @convention(c) (Pointer, Int32, Int, Pointer?) -> Int
    let newConnection: @convention(c) (Pointer) -> Pointer?
    let freeConnection: Free
    let control: @convention(c) (Pointer, Int32, Int, Pointer?) -> Int
    let useCertificate: @convention(c) (Pointer, Pointer) -> Int32
    let useKey: @convention(c) (Pointer, Pointer) -> Int32
    let checkKey: @convention(c) (Pointer) -> Int32

    // MARK: - Records

    let setCertificateRequest: @convention(c) (Pointer, HandshakeFunctions.Verification, Pointer?) -> Void
    let setConnectState: @convention(c) (Pointer) -> Void
    let handshake: @convention(c) (Pointer) -> Int32
    let read: @convention(c) (Pointer, UnsafeMutableRawPointer, Int32) -> Int32
    let write: @convention(c) (Pointer, Bytes, Int32) -> Int32
    let shutDown: @convention(c) (Pointer) -> Int32
    let outcome: @convention(c) (Pointer, Int32) -> Int32

    // MARK: - Memory (`BIO`)

    let memory: @convention(c) () -> Pointer?
    let newMemory: @convention(c) (Pointer) -> Pointer?
    let memoryOver: @convention(c) (Bytes, Int32) -> Pointer?
    let freeMemory: @convention(c) (Pointer) -> Int32
    let setMemory: @convention(c) (Pointer, Pointer, Pointer) -> Void
    let readMemory: @convention(c) (Pointer, UnsafeMutableRawPointer, Int32) -> Int32
    let writeMemory: @convention(c) (Pointer, Bytes, Int32) -> Int32
    let memoryCount: @convention(c) (Pointer) -> Int

    // MARK: - Certificates and keys

    /// The last argument is the passphrase; with nil, OpenSSL would ask at the terminal.
    let readCertificate: @convention(c) (Pointer, Pointer?, Pointer?, UnsafePointer<CChar>) -> Pointer?
    let readKey: @convention(c) (Pointer, Pointer?, Pointer?, UnsafePointer<CChar>) -> Pointer?
    let readBundle: @convention(c) (Pointer, Pointer?) -> Pointer?
    let openBundle: OpenBundle
    let freeBundle: Free
    let freeCertificate: Free
    let freeKey: Free
    let freeStack: Free
    let popFromStack: @convention(c) (Pointer) -> Pointer?
    let publicKey: @convention(c) (Pointer) -> Pointer?
    let encodePublicKey: OpenSSL.Encoder
    let digests: DigestFunctions
    let encodeBase64: @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, Int32) -> Int32

    typealias OpenBundle =
        @convention(c) (
            Pointer, UnsafePointer<CChar>, UnsafeMutablePointer<Pointer?>, UnsafeMutablePointer<Pointer?>,
            UnsafeMutablePointer<Pointer?>
        ) -> Int32

    // MARK: - Errors

    let nextError: @convention(c) () -> UInt
    let errorText: @convention(c) (UInt, UnsafeMutablePointer<CChar>, Int) -> Void
    let clearErrors: @convention(c) () -> Void

    static let loaded = try? TLSClientFunctions()

    private init() throws(OpenSSL.Missing) {
        clientMethod = try OpenSSL.function("TLS_client_method")
        newContext = try OpenSSL.function("SSL_CTX_new")
        freeContext = try OpenSSL.function("SSL_CTX_free")
        setOptions = try OpenSSL.function("SSL_CTX_set_options")
        setVerifyMode = try OpenSSL.function("SSL_CTX_set_verify")
        setCipherList = try OpenSSL.function("SSL_CTX_set_cipher_list")
        setCipherSuites = try OpenSSL.function("SSL_CTX_set_ciphersuites")
        controlContext = try OpenSSL.function("SSL_CTX_ctrl")
        newConnection = try OpenSSL.function("SSL_new")
        freeConnection = try OpenSSL.function("SSL_free")
        control = try OpenSSL.function("SSL_ctrl")
        useCertificate = try OpenSSL.function("SSL_use_certificate")
        useKey = try OpenSSL.function("SSL_use_PrivateKey")
        checkKey = try OpenSSL.function("SSL_check_private_key")
        setCertificateRequest = try OpenSSL.function("SSL_set_cert_cb")
        setConnectState = try OpenSSL.function("SSL_set_connect_state")
        handshake = try OpenSSL.function("SSL_do_handshake")
        read = try OpenSSL.function("SSL_read")
        write = try OpenSSL.function("SSL_write")
        shutDown = try OpenSSL.function("SSL_shutdown")
        outcome = try OpenSSL.function("SSL_get_error")
        memory = try OpenSSL.function("BIO_s_mem")
        newMemory = try OpenSSL.function("BIO_new")
        memoryOver = try OpenSSL.function("BIO_new_mem_buf")
        freeMemory = try OpenSSL.function("BIO_free")
        setMemory = try OpenSSL.function("SSL_set_bio")
        readMemory = try OpenSSL.function("BIO_read")
        writeMemory = try OpenSSL.function("BIO_write")
        memoryCount = try OpenSSL.function("BIO_ctrl_pending")
        readCertificate = try OpenSSL.function("PEM_read_bio_X509")
        readKey = try OpenSSL.function("PEM_read_bio_PrivateKey")
        readBundle = try OpenSSL.function("d2i_PKCS12_bio")
        openBundle = try OpenSSL.function("PKCS12_parse")
        freeBundle = try OpenSSL.function("PKCS12_free")
        freeCertificate = try OpenSSL.function("X509_free")
        freeKey = try OpenSSL.function("EVP_PKEY_free")
        freeStack = try OpenSSL.function("OPENSSL_sk_free")
        popFromStack = try OpenSSL.function("OPENSSL_sk_shift")
        publicKey = try OpenSSL.function("X509_get_X509_PUBKEY")
        encodePublicKey = try OpenSSL.function("i2d_X509_PUBKEY")
        guard let digests = DigestFunctions.loaded else { throw OpenSSL.Missing() }
        self.digests = digests
        encodeBase64 = try OpenSSL.function("EVP_EncodeBlock")
        nextError = try OpenSSL.function("ERR_get_error")
        errorText = try OpenSSL.function("ERR_error_string_n")
        clearErrors = try OpenSSL.function("ERR_clear_error")
    }

    /// The first error that OpenSSL noted, such as "error:0A000086:SSL routines::certificate verify failed"; nil if there is none.
    func takeErrorText() -> String? {
        let error = nextError()
        defer { clearErrors() }
        guard error != 0 else { return nil }
        var text = [CChar](repeating: 0, count: 256)
        errorText(error, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The pin of a certificate's key in libcurl's form, like "sha256//…".
    func pin(of certificate: Pointer) -> String? {
        guard let key = publicKey(certificate) else { return nil }
        let encoded = OpenSSL.encoded(key, encodePublicKey)
        guard !encoded.isEmpty else { return nil }
        var hash = [UInt8](repeating: 0, count: DigestFunctions.length)
        guard hash.withUnsafeMutableBytes({ digests.hash(encoded, into: $0) }) else { return nil }
        // Four characters for three bytes, and a NUL.
        var text = [UInt8](repeating: 0, count: 48)
        let count = encodeBase64(&text, hash, Int32(hash.count))
        return "sha256//" + String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}
