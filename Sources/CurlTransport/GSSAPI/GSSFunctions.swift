import Glibc

/// GSS-API's functions (RFC 2744), found in the library that libcurl has loaded: this module doesn't link it, and its headers don't come with
/// libcurl's.
struct GSSFunctions: Sendable {
    typealias Pointer = UnsafeMutableRawPointer
    typealias Status = UInt32
    /// Where a function puts the status of its mechanism.
    typealias Minor = UnsafeMutablePointer<Status>
    /// Where a function puts, or finds, a pointer to an object of its own.
    typealias Object = UnsafeMutablePointer<Pointer?>

    struct Missing: Error {}

    let acquireCredential: AcquireCredential
    let releaseCredential: @convention(c) (Minor, Object) -> Status
    let importName: @convention(c) (Minor, _ text: Pointer, _ kind: Pointer, Object) -> Status
    let releaseName: @convention(c) (Minor, Object) -> Status
    /// https://datatracker.ietf.org/doc/html/rfc2744#section-5.19
    let beginContext: BeginContext
    let deleteContext: @convention(c) (Minor, Object, _ output: Pointer?) -> Status
    let describeStatus: DescribeStatus
    let releaseBuffer: @convention(c) (Minor, _ buffer: Pointer) -> Status

    typealias AcquireCredential =
        @convention(c) (
            Minor, _ name: Pointer?, _ lifetime: UInt32, _ mechanisms: Pointer?, _ usage: Int32, Object,
            _ usedMechanisms: Pointer?, _ setLifetime: Pointer?
        ) -> Status
    typealias BeginContext =
        @convention(c) (
            Minor, _ credential: Pointer?, _ context: Object, _ name: Pointer, _ mechanism: Pointer, _ flags: UInt32,
            _ lifetime: UInt32, _ bindings: Pointer?, _ input: Pointer?, _ usedMechanism: Pointer?, _ output: Pointer,
            _ setFlags: Pointer?, _ setLifetime: Pointer?
        ) -> Status
    typealias DescribeStatus =
        @convention(c) (Minor, Status, _ kind: Int32, _ mechanism: Pointer, _ position: Minor, _ text: Pointer) ->
        Status

    /// nil if libcurl was built without GSS-API. Looked up once, and never closed.
    static let loaded = try? GSSFunctions()

    /// MIT's and Heimdal's.
    private static let files = ["libgssapi_krb5.so.2", "libgssapi.so.3"]

    private init() throws(Missing) {
        guard let library = Self.files.lazy.compactMap({ dlopen($0, RTLD_LAZY | RTLD_NOLOAD) }).first else {
            throw Missing()
        }
        func function<Function>(_ name: String) throws(Missing) -> Function {
            guard let symbol = dlsym(library, name) else { throw Missing() }
            return unsafeBitCast(symbol, to: Function.self)
        }
        acquireCredential = try function("gss_acquire_cred")
        releaseCredential = try function("gss_release_cred")
        importName = try function("gss_import_name")
        releaseName = try function("gss_release_name")
        beginContext = try function("gss_init_sec_context")
        deleteContext = try function("gss_delete_sec_context")
        describeStatus = try function("gss_display_status")
        releaseBuffer = try function("gss_release_buffer")
    }
}

extension CurlLibrary {
    /// Whether `NegotiateToken` can make tokens: libcurl was built with GSS-API.
    package static let hasNegotiate = GSSFunctions.loaded != nil
}
