/// What OpenSSL offers for speaking TLS without a socket. https://docs.openssl.org/3.0/man3/SSL_set_bio/
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
    let encodePublicKey: @convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
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

    private struct Missing: Error {}

    private static func find<Function>(_ name: String) throws -> Function {
        guard let function: Function = OpenSSL.function(name) else { throw Missing() }
        return function
    }

    private init() throws {
        clientMethod = try Self.find("TLS_client_method")
        newContext = try Self.find("SSL_CTX_new")
        freeContext = try Self.find("SSL_CTX_free")
        setOptions = try Self.find("SSL_CTX_set_options")
        setVerifyMode = try Self.find("SSL_CTX_set_verify")
        setCipherList = try Self.find("SSL_CTX_set_cipher_list")
        setCipherSuites = try Self.find("SSL_CTX_set_ciphersuites")
        controlContext = try Self.find("SSL_CTX_ctrl")
        newConnection = try Self.find("SSL_new")
        freeConnection = try Self.find("SSL_free")
        control = try Self.find("SSL_ctrl")
        useCertificate = try Self.find("SSL_use_certificate")
        useKey = try Self.find("SSL_use_PrivateKey")
        checkKey = try Self.find("SSL_check_private_key")
        setCertificateRequest = try Self.find("SSL_set_cert_cb")
        setConnectState = try Self.find("SSL_set_connect_state")
        handshake = try Self.find("SSL_do_handshake")
        read = try Self.find("SSL_read")
        write = try Self.find("SSL_write")
        shutDown = try Self.find("SSL_shutdown")
        outcome = try Self.find("SSL_get_error")
        memory = try Self.find("BIO_s_mem")
        newMemory = try Self.find("BIO_new")
        memoryOver = try Self.find("BIO_new_mem_buf")
        freeMemory = try Self.find("BIO_free")
        setMemory = try Self.find("SSL_set_bio")
        readMemory = try Self.find("BIO_read")
        writeMemory = try Self.find("BIO_write")
        memoryCount = try Self.find("BIO_ctrl_pending")
        readCertificate = try Self.find("PEM_read_bio_X509")
        readKey = try Self.find("PEM_read_bio_PrivateKey")
        readBundle = try Self.find("d2i_PKCS12_bio")
        openBundle = try Self.find("PKCS12_parse")
        freeBundle = try Self.find("PKCS12_free")
        freeCertificate = try Self.find("X509_free")
        freeKey = try Self.find("EVP_PKEY_free")
        freeStack = try Self.find("OPENSSL_sk_free")
        popFromStack = try Self.find("OPENSSL_sk_shift")
        publicKey = try Self.find("X509_get_X509_PUBKEY")
        encodePublicKey = try Self.find("i2d_X509_PUBKEY")
        guard let digests = DigestFunctions.loaded else { throw Missing() }
        self.digests = digests
        encodeBase64 = try Self.find("EVP_EncodeBlock")
        nextError = try Self.find("ERR_get_error")
        errorText = try Self.find("ERR_error_string_n")
        clearErrors = try Self.find("ERR_clear_error")
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
        let length = encodePublicKey(key, nil)
        guard length > 0 else { return nil }
        let encoded = [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var position = buffer.baseAddress
            count = max(0, Int(encodePublicKey(key, &position)))
        }
        var hash = [UInt8](repeating: 0, count: DigestFunctions.length)
        guard hash.withUnsafeMutableBytes({ digests.hash(encoded, into: $0) }) else { return nil }
        // Four for three, and a NUL.
        var text = [UInt8](repeating: 0, count: 48)
        let count = encodeBase64(&text, hash, Int32(hash.count))
        return "sha256//" + String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}
