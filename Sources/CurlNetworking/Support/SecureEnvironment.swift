import CCurlNetworkingLinux

/// The environment, where it names what the program runs or trusts, or where it writes.
enum SecureEnvironment {
    /// nil for a variable that isn't set, and for all of them in a process with more rights than its user (secure_getenv(3)).
    static subscript(name: String) -> String? {
        secure_getenv(name).map { String(cString: $0) }
    }
}
