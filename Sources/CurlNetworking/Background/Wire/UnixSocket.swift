import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// Sockets in the file system, between processes of one user.
enum UnixSocket {
    /// The process at the other end.
    struct Peer: Equatable {
        var pid: Int32
        var user: UInt32
    }

    private static let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

    /// Makes a socket that accepts connections to `name` in `folder`, replacing one that was left behind. The caller has made sure that
    /// no process is listening there.
    static func listen(_ name: String, in folder: URL) throws(SystemError) -> Int32 {
        try with(name, in: folder) { (path) throws(SystemError) in
            let descriptor = socket(AF_UNIX, type, 0)
            guard descriptor >= 0 else { throw .current }
            unlink(path)
            // Created without access for others: the permissions are checked at each connection.
            let mask = umask(0o077)
            let isBound = withAddress(path) { bind(descriptor, $0, $1) } == 0
            let error = SystemError.current
            umask(mask)
            guard isBound, Glibc.listen(descriptor, 512) == 0 else {
                let error = isBound ? SystemError.current : error
                close(descriptor)
                throw error
            }
            return descriptor
        }
    }

    /// A connection to `name` in `folder`.
    static func connect(_ name: String, in folder: URL) throws(SystemError) -> Int32 {
        try with(name, in: folder) { (path) throws(SystemError) in
            let descriptor = socket(AF_UNIX, type, 0)
            guard descriptor >= 0 else { throw .current }
            guard withAddress(path, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
                let error = SystemError.current
                close(descriptor)
                throw error
            }
            return descriptor
        }
    }

    /// The process at the other end of a connection, according to the kernel; nil if the kernel doesn't know it.
    static func peer(of descriptor: Int32) -> Peer? {
        // struct ucred
        var credentials: (pid: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return Peer(pid: credentials.pid, user: credentials.user)
    }

    /// A socket's address has room for a path of 107 bytes. A longer one is replaced by a path through a descriptor of the folder.
    private static func with<Result>(
        _ name: String,
        in folder: URL,
        _ body: (String) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let path = folder.appendingPathComponent(name, isDirectory: false).path
        if path.utf8.count <= 107 { return try body(path) }
        let directory = uninterrupted { open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard directory >= 0 else { throw .current }
        defer { close(directory) }
        return try body("/proc/self/fd/\(directory)/\(name)")
    }

    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
