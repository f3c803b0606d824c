import CCurlNetworkingLibcurl
import Glibc

/// OpenSSL's functions, found in the copy that libcurl has loaded: this module doesn't link OpenSSL, whose headers don't come with
/// libcurl's.
enum OpenSSL {
    typealias Pointer = UnsafeMutableRawPointer
    typealias Destructor = @convention(c) (Pointer?, Pointer?, Pointer?, Int32, Int, Pointer?) -> Void

    /// An `i2d_…` function: returns the length of the object in DER, and writes it where the second argument points to, unless that is nil.
    typealias Encoder = @convention(c) (Pointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32

    struct Missing: Error {}

    /// nil if libcurl uses another TLS library, or if that library's functions can't be told apart from another's in the same process.
    /// Looked up once, and never closed.
    nonisolated(unsafe) private static let library: Pointer? = {
        guard let text = clibcurl_version_info().pointee.ssl_version.map({ String(cString: $0) }),
            let file = files.first(where: { text.contains($0.version) })?.name
        else { return nil }
        return dlopen(file, RTLD_LAZY | RTLD_NOLOAD)
    }()

    private static let files = [
        (version: "OpenSSL/3.", name: "libssl.so.3"), (version: "OpenSSL/1.1.1", name: "libssl.so.1.1"),
    ]

    /// A function of libssl, or of the libcrypto below it; throws if there is none of that name. `Function` must be its C type.
    static func function<Function>(_ name: String) throws(Missing) -> Function {
        guard let library, let symbol = dlsym(library, name) else { throw Missing() }
        return unsafeBitCast(symbol, to: Function.self)
    }

    /// The index of a new slot for a pointer in each object of `kind`, one of the `CRYPTO_EX_INDEX_…` constants. OpenSSL calls `free` for
    /// each object that it frees, with nil for an empty slot. https://docs.openssl.org/3.0/man3/CRYPTO_get_ex_new_index/
    static func slot(in kind: Int32, free: Destructor) throws(Missing) -> Int32 {
        let newIndex: @convention(c) (Int32, Int, Pointer?, Pointer?, Pointer?, Destructor) -> Int32 =
            try function("CRYPTO_get_ex_new_index")
        let index = newIndex(kind, 0, nil, nil, nil, free)
        guard index >= 0 else { throw Missing() }
        return index
    }

    /// `object` in DER; empty if that fails. https://docs.openssl.org/3.0/man3/d2i_X509/
    static func encoded(_ object: Pointer, _ encode: Encoder) -> [UInt8] {
        let length = encode(object, nil)
        guard length > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var position = buffer.baseAddress
            count = max(0, Int(encode(object, &position)))
        }
    }
}

extension CurlLibrary {
    /// The TLS library's own name and version, such as "OpenSSL/3.0.19".
    package static let tlsLibrary =
        clibcurl_version_info().pointee.ssl_version.map { String(cString: $0) } ?? "no TLS library"

    /// Whether trust can be evaluated here: that needs OpenSSL functions that other libraries lack.
    package static let decidesTrust = TrustFunctions.loaded != nil && HandshakeFunctions.loaded != nil
}
