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
    private let setStore: @convention(c) (Pointer, Pointer) -> Void
    private let control: @convention(c) (Pointer, Int32, Int, Pointer?) -> Int

    // SSL_CTRL_SET_VERIFY_CERT_STORE and SSL_CTRL_SET_CHAIN_CERT_STORE
    private static let (setsVerifyStore, setsChainStore): (Int32, Int32) = (106, 107)

    static let loaded = try? TrustFunctions()

    private init() throws(OpenSSL.Missing) {
        newStore = try OpenSSL.function("X509_STORE_new")
        freeStore = try OpenSSL.function("X509_STORE_free")
        setFlags = try OpenSSL.function("X509_STORE_set_flags")
        addCertificate = try OpenSSL.function("X509_STORE_add_cert")
        loadLocations = try OpenSSL.function("X509_STORE_load_locations")
        addLookup = try OpenSSL.function("X509_STORE_add_lookup")
        fileLookup = try OpenSSL.function("X509_LOOKUP_file")
        loadRevocationList = try OpenSSL.function("X509_load_crl_file")
        decodeCertificate = try OpenSSL.function("d2i_X509")
        freeCertificate = try OpenSSL.function("X509_free")
        clearErrors = try OpenSSL.function("ERR_clear_error")
        setStore = try OpenSSL.function("SSL_CTX_set1_cert_store")
        control = try OpenSSL.function("SSL_CTX_ctrl")
    }

    /// Has connections of `context`, an `SSL_CTX`, verify certificates with `store`, and complete those that they present from it. The
    /// context's own store is left alone: libcurl fills that with whatever it trusts by default. Both stores are retained.
    func use(_ store: Pointer, in context: Pointer) {
        for command in [Self.setsVerifyStore, Self.setsChainStore] { _ = control(context, command, 1, store) }
    }

    /// Does the same for the context's own store, with which libcurl verifies stapled answers. libcurl may add to `store`.
    func give(_ store: Pointer, to context: Pointer) {
        use(store, in: context)
        setStore(context, store)
    }
}
