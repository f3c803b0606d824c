import Foundation
import Glibc

extension LoopbackServer {
    /// A system call that failed while a server was being set up.
    package struct SocketError: LocalizedError, CustomStringConvertible {
        package let call: String
        /// The errno.
        package let code: Int32

        package var description: String { "\(call): \(String(cString: strerror(code)))" }
        package var errorDescription: String? { description }
    }
}

// The toolchain's Glibc module leaves out this GNU extension. Without it a child process that is spawned between
// `accept` and `fcntl` inherits the connection, and the client never sees its end.
@_silgen_name("accept4")
private func accept4(
    _ listener: Int32,
    _ address: UnsafeMutableRawPointer?,
    _ length: UnsafeMutableRawPointer?,
    _ flags: Int32
) -> Int32

/// The socket calls of the server, one thin function each.
enum Sockets {
    /// A non-blocking listening socket on a numeric IPv4 or IPv6 address.
    static func listen(host: String, port: Int, backlog: Int) throws -> Int32 {
        let descriptor = try bound(host: host, port: port, isReusable: true)
        guard Glibc.listen(descriptor, Int32(clamping: backlog)) == 0 else {
            defer { close(descriptor) }
            throw LoopbackServer.SocketError(call: "listen", code: errno)
        }
        return descriptor
    }

    /// One that doesn't listen yet. If the port isn't reusable, no other socket can have it.
    static func bound(host: String, port: Int, isReusable: Bool) throws -> Int32 {
        guard let number = UInt16(exactly: port) else { throw LoopbackServer.SocketError(call: "bind", code: EINVAL) }
        let family = host.contains(":") ? AF_INET6 : AF_INET
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(family, Int32(kind), 0)
        guard descriptor >= 0 else { throw LoopbackServer.SocketError(call: "socket", code: errno) }
        do {
            var on: Int32 = isReusable ? 1 : 0
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
            // Of its connections. By itself it grows to 32 MiB while the server is slow, and a client has sent what isn't read yet.
            var receiveBuffer: Int32 = 64 << 10
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
            try bind(descriptor, family: family, host: host, port: number)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func bind(_ descriptor: Int32, family: Int32, host: String, port: UInt16) throws {
        let result: Int32
        if family == AF_INET6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else {
                throw LoopbackServer.SocketError(call: "inet_pton", code: EINVAL)
            }
            result = withGenericAddress(&address) { Glibc.bind(descriptor, $0, $1) }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
                throw LoopbackServer.SocketError(call: "inet_pton", code: EINVAL)
            }
            result = withGenericAddress(&address) { Glibc.bind(descriptor, $0, $1) }
        }
        guard result == 0 else { throw LoopbackServer.SocketError(call: "bind", code: errno) }
    }

    private static func withGenericAddress<Address, Result>(
        _ address: inout Address,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// The port a listening socket got.
    static func localPort(_ descriptor: Int32) throws -> Int {
        // The port is in the same place in IPv4 and IPv6 addresses.
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withGenericAddress(&address) { pointer, _ in getsockname(descriptor, pointer, &length) }
        guard result == 0 else { throw LoopbackServer.SocketError(call: "getsockname", code: errno) }
        return Int(UInt16(bigEndian: address.sin6_port))
    }

    enum Accepted {
        case socket(Int32)
        case noneWaiting
        /// There are no descriptors left for it.
        case exhausted
    }

    /// Takes the next connection; its socket doesn't block.
    static func accept(_ listener: Int32) -> Accepted {
        let socket = accept4(listener, nil, nil, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
        guard socket >= 0 else { return errno == EMFILE || errno == ENFILE ? .exhausted : .noneWaiting }
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return .socket(socket)
    }

    /// The result of a `recv` or `send`.
    enum Transfer {
        case moved(Int)
        /// The peer has closed its direction. Only `receive` reports it.
        case ended
        /// It would block.
        case wouldBlock
        /// The connection is gone.
        case failed
    }

    static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        return count == 0 ? .ended : outcome(count)
    }

    /// Never raises SIGPIPE.
    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        outcome(Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    private static func outcome(_ count: Int) -> Transfer {
        if count >= 0 { return .moved(count) }
        return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed
    }

    /// How many bytes the peer's kernel has not acknowledged.
    static func unacknowledged(_ descriptor: Int32) -> Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// Sends FIN; the other direction stays open.
    static func finish(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes with RST instead of FIN.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }
}
