import CCurlNetworkingLinux
import Glibc

/// Reports when the system's network may have changed: its links, addresses and routes (rtnetlink(7)), and the resolver's files
/// (inotify(7)).
///
/// Loop only. Its owner must call `close()`; `deinit` only checks that. Sources that the system denies, in a container or for lack of
/// descriptors, aren't watched.
package final class NetworkMonitor: DescriptorHandler {
    private let loop: EventLoop
    private var id: UInt32 = 0
    private var routes: Int32
    private var files: Int32
    /// The file names of interest in the watched directories.
    private let fileNames: Set<String>
    private let changed: () -> Void

    package static let resolverFiles = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"]

    /// `changed` is called on the loop, often several times for one change; it must not retain the monitor's owner.
    package init(loop: EventLoop, files paths: [String] = resolverFiles, changed: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.changed = changed
        let places = paths.flatMap { [$0, Self.resolved($0)] }
        fileNames = Set(places.map(Self.name))
        routes = Self.openRoutes()
        files = Self.openFiles(places)
        id = loop.register(self)
        for descriptor in [routes, files] where descriptor >= 0 {
            loop.watch(descriptor, for: .read, owner: id)
        }
    }

    deinit {
        assert(routes < 0 && files < 0, "a NetworkMonitor must be closed on its loop")
    }

    package func close() {
        loop.preconditionOnLoop()
        for descriptor in [routes, files] where descriptor >= 0 {
            loop.unwatch(descriptor)
            Glibc.close(descriptor)
        }
        (routes, files) = (-1, -1)
        loop.unregister(id)
    }

    func descriptorBecameReady(_ descriptor: Int32) {
        let hasChanged =
            switch descriptor {
            case routes: hasRouteChanged()
            case files: hasFileChanged()
            default: false
            }
        if hasChanged { changed() }
    }

    // MARK: - Links, addresses and routes

    /// -1 if the system denies it.
    private static func openRoutes() -> Int32 {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_NETLINK, type, NETLINK_ROUTE)
        guard descriptor >= 0 else { return -1 }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE
        )
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
            }
        }
        guard isBound else {
            Glibc.close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Empties the socket; true after any message, or if some were missed.
    private func hasRouteChanged() -> Bool {
        var hasChanged = false
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 16) { buffer in
                recv(routes, buffer.baseAddress, buffer.count, 0)
            }
            if count > 0 || (count < 0 && errno == ENOBUFS) { hasChanged = true }
            if count < 0, errno != ENOBUFS, errno != EINTR { return hasChanged }
        }
    }

    // MARK: - The resolver's files

    /// Watches the files themselves and the directories in which they are replaced. -1 if there is nothing to watch.
    private static func openFiles(_ places: [String]) -> Int32 {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return -1 }
        let changes = UInt32(IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        for place in Set(places) {
            inotify_add_watch(descriptor, place, UInt32(IN_CLOSE_WRITE))
            inotify_add_watch(descriptor, directory(of: place), changes)
        }
        return descriptor
    }

    /// Empties the queue; true if it concerned one of the files.
    private func hasFileChanged() -> Bool {
        var hasChanged = false
        while true {
            let isEmpty = withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 16) { buffer in
                let count = read(files, buffer.baseAddress, buffer.count)
                guard count > 0 else { return count == 0 || errno != EINTR }
                if concerns(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { hasChanged = true }
                return false
            }
            if isEmpty { return hasChanged }
        }
    }

    /// Whether an event concerns a watched file, or says that events were lost.
    private func concerns(_ events: UnsafeRawBufferPointer) -> Bool {
        var rest = events
        let size = MemoryLayout<inotify_event>.size
        while rest.count >= size {
            let event = rest.loadUnaligned(as: inotify_event.self)
            let length = min(Int(event.len), rest.count - size)
            let name = UnsafeRawBufferPointer(rebasing: rest[size..<size + length])
            // A watch on the file itself reports no name.
            if name.isEmpty || fileNames.contains(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)) {
                return true
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[(size + length)...])
        }
        return false
    }

    /// The target of a symbolic link; the path itself if it isn't one, or if its target doesn't exist.
    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}
