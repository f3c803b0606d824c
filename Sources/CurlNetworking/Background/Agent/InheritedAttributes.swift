import CCurlNetworkingLinux
import CurlNetworkingLocks
import CurlTransport
import Glibc

/// The inherited process attributes that an agent changes for itself, and restores for the command that it launches.
struct InheritedAttributes: Sendable {
    /// nil if it wasn't changed.
    private var mask: mode_t?
    /// The limit on descriptors; nil if it wasn't changed.
    private var descriptors: rlimit?

    /// This process's.
    private static let own = Mutex(InheritedAttributes())
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Changes them for an agent: its files are closed to other users, and, since it does the transfers of many programs, it may have as
    /// many descriptors as the hard limit allows. Nothing that it calls is limited to 1024 of them, as `select` is.
    static func replace() {
        own.withLock { own in
            own.mask = umask(0o077)
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0 else { return }
            var higher = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
            if setrlimit(resource, &higher) == 0 { own.descriptors = limit }
        }
    }

    /// Starts a process with the original attributes. The limit can't be passed on, so it is set as soon as the process exists.
    static func restore(in start: () throws(SystemError) -> pid_t) throws(SystemError) -> pid_t {
        let former = own.withLock { $0 }
        // Other threads create files with an explicit mode that closes them to other users.
        let mask = former.mask.map { umask($0) }
        defer { if let mask { umask(mask) } }
        let pid = try start()
        if var descriptors = former.descriptors { prlimit(pid, resource, &descriptors, nil) }
        return pid
    }
}
