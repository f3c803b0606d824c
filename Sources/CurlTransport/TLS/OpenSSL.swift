import CCurlNetworkingLibcurl
import Glibc

/// OpenSSL's functions, found in the very library that libcurl has loaded: nothing of this module is linked with OpenSSL, whose
/// headers belong to no libcurl.
enum OpenSSL {
    typealias Pointer = UnsafeMutableRawPointer

    /// nil where libcurl uses another TLS library, or one whose functions can't be told apart from another's in the same
    /// process. Looked up once, and never closed.
    nonisolated(unsafe) private static let library: Pointer? = {
        guard let text = clibcurl_version_info().pointee.ssl_version.map({ String(cString: $0) }),
            let file = files.first(where: { text.contains($0.version) })?.name
        else { return nil }
        return dlopen(file, RTLD_LAZY | RTLD_NOLOAD)
    }()

    private static let files = [
        (version: "OpenSSL/3.", name: "libssl.so.3"), (version: "OpenSSL/1.1.1", name: "libssl.so.1.1"),
    ]

    /// A function of libssl, or of the libcrypto below it. `Function` must be its C type.
    static func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        guard let library, let symbol = dlsym(library, name) else { return nil }
        return unsafeBitCast(symbol, to: type)
    }
}

extension CurlLibrary {
    /// What the TLS library calls itself, like "OpenSSL/3.0.19".
    package static let tlsLibrary =
        clibcurl_version_info().pointee.ssl_version.map { String(cString: $0) } ?? "no TLS library"

    /// Whether trust can be decided on here: it takes functions of OpenSSL's that other libraries lack.
    package static let decidesTrust = TrustFunctions.loaded != nil && HandshakeFunctions.loaded != nil
}
