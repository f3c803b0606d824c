import Glibc

/// A shared library that this module is not linked with: the one that libcurl has loaded already, or else the system's.
///
/// `@unchecked Sendable`: it never changes, and is never closed.
struct SharedLibrary: @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer

    /// nil where there is none of this name, like "libz.so.1".
    init?(_ name: String) {
        guard let handle = dlopen(name, RTLD_LAZY) else { return nil }
        self.handle = handle
    }

    /// nil where the library lacks it. `Function` must be its C type.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        guard let symbol = dlsym(handle, name) else { return nil }
        return unsafeBitCast(symbol, to: type)
    }
}
