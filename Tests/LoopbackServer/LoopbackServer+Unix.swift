import Foundation
import Glibc

extension LoopbackServer {
    /// The name of a Unix domain socket.
    package enum UnixSocket: Sendable {
        case path(String)
        /// In Linux's abstract namespace, without the leading NUL.
        case abstract(String)
    }

    /// Starts an HTTP server on a Unix domain socket. Its file stays when the server stops.
    package convenience init(
        unixSocket: UnixSocket,
        answering: Answering = .afterBody,
        options: Options = Options(),
        _ handler: @escaping Handler
    ) throws {
        let listener = try Sockets.listen(unixSocket, backlog: options.backlog)
        try self.init(listener: listener, options: options, service: .http(answering, handler)) {
            let host =
                switch unixSocket {
                case .path(let path): path
                case .abstract(let name): "@" + name
                }
            let encoded = host.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            guard let url = URL(string: "http+unix://\(encoded)") else {
                throw SocketError(call: "bind", code: EINVAL)
            }
            return (url, 0)
        }
    }
}

extension Sockets {
    /// A non-blocking listening socket.
    static func listen(_ name: LoopbackServer.UnixSocket, backlog: Int) throws -> Int32 {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_UNIX, Int32(kind), 0)
        guard descriptor >= 0 else { throw LoopbackServer.SocketError(call: "socket", code: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes: [UInt8] =
            switch name {
            case .path(let path): Array(path.utf8) + [0]
            case .abstract(let name): [0] + Array(name.utf8)
            }
        let capacity = withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes.prefix(path.count))
            return path.count
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + min(bytes.count, capacity))
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
        }
        guard bytes.count <= capacity, result == 0, Glibc.listen(descriptor, Int32(clamping: backlog)) == 0 else {
            defer { close(descriptor) }
            throw LoopbackServer.SocketError(call: "bind", code: bytes.count <= capacity ? errno : ENAMETOOLONG)
        }
        return descriptor
    }
}
