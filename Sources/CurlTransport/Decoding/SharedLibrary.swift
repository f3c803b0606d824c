import Glibc

/// A shared library that this module doesn't link: the copy libcurl has already loaded, or else the system's.
///
/// `@unchecked Sendable`: it never changes, and is never closed.
struct SharedLibrary: @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer

    /// nil if there is no library of this name, such as "libz.so.1".
    init?(_ name: String) {
        guard let handle = dlopen(name, RTLD_LAZY) else { return nil }
        self.handle = handle
    }

    /// nil if the library lacks it. `Function` must be its C type.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        guard let symbol = dlsym(handle, name) else { return nil }
        return unsafeBitCast(symbol, to: type)
    }
}
