import Glibc

/// A listening TCP socket on 127.0.0.1, at the given port or a free one. The caller closes it.
package enum ListeningSocket {
    package static func open(port: Int = 0, backlog: Int32, for purpose: String) throws -> (
        descriptor: Int32, port: Int
    ) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let succeeded = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, backlog) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard succeeded else { throw ChildProcess.Failure(description: "No socket for \(purpose): errno \(errno)") }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
    /// One on a Unix domain socket in the file system. The caller closes it.
    static func openUnix(_ path: String, backlog: Int32, for purpose: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let succeeded = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                    && listen(descriptor, backlog) == 0
            }
        }
        guard succeeded else { throw ChildProcess.Failure(description: "No socket for \(purpose): errno \(errno)") }
        return descriptor
    }
}
