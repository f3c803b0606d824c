/// OpenSSL's functions for stores of trusted certificates.
/// https://docs.openssl.org/3.0/man3/X509_STORE_add_cert/
struct TrustFunctions: Sendable {
    typealias Pointer = OpenSSL.Pointer

    let newStore: @convention(c) () -> Pointer?
    let freeStore: @convention(c) (Pointer) -> Void
    let setFlags: @convention(c) (Pointer, UInt) -> Int32
    let addCertificate: @convention(c) (Pointer, Pointer) -> Int32
    let loadLocations: @convention(c) (Pointer, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Int32
    let addLookup: @convention(c) (Pointer, Pointer) -> Pointer?
    let fileLookup: @convention(c) () -> Pointer?
    let loadRevocationList: @convention(c) (Pointer, UnsafePointer<CChar>, Int32) -> Int32
    let decodeCertificate: @convention(c) (Pointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Pointer?
    let freeCertificate: @convention(c) (Pointer) -> Void
    let clearErrors: @convention(c) () -> Void
    /// Retains the store.
    let useStore: @convention(c) (Pointer, Pointer) -> Void

    static let loaded = TrustFunctions()

    private init?() {
        guard let newStore: @convention(c) () -> Pointer? = OpenSSL.function("X509_STORE_new"),
            let freeStore: @convention(c) (Pointer) -> Void = OpenSSL.function("X509_STORE_free"),
            let setFlags: @convention(c) (Pointer, UInt) -> Int32 = OpenSSL.function("X509_STORE_set_flags"),
            let addCertificate: @convention(c) (Pointer, Pointer) -> Int32 = OpenSSL.function("X509_STORE_add_cert"),
            let loadLocations: @convention(c) (Pointer, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Int32 =
                OpenSSL.function("X509_STORE_load_locations"),
            let addLookup: @convention(c) (Pointer, Pointer) -> Pointer? = OpenSSL.function("X509_STORE_add_lookup"),
            let fileLookup: @convention(c) () -> Pointer? = OpenSSL.function("X509_LOOKUP_file"),
            let loadRevocationList: @convention(c) (Pointer, UnsafePointer<CChar>, Int32) -> Int32 =
                OpenSSL.function("X509_load_crl_file"),
            let decodeCertificate:
                @convention(c) (Pointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Pointer? =
                OpenSSL.function("d2i_X509"),
            let freeCertificate: @convention(c) (Pointer) -> Void = OpenSSL.function("X509_free"),
            let clearErrors: @convention(c) () -> Void = OpenSSL.function("ERR_clear_error"),
            let useStore: @convention(c) (Pointer, Pointer) -> Void = OpenSSL.function("SSL_CTX_set1_cert_store")
        else { return nil }
        self.newStore = newStore
        self.freeStore = freeStore
        self.setFlags = setFlags
        self.addCertificate = addCertificate
        self.loadLocations = loadLocations
        self.addLookup = addLookup
        self.fileLookup = fileLookup
        self.loadRevocationList = loadRevocationList
        self.decodeCertificate = decodeCertificate
        self.freeCertificate = freeCertificate
        self.clearErrors = clearErrors
        self.useStore = useStore
    }
}
