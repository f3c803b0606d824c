import Foundation

/// The few socket calls that the driver needs.
enum Loopback {
    /// A port of 127.0.0.1 that nobody listens on now.
    static func freePort() throws -> UInt16 {
        try Listener(backlog: 1).port
    }

    /// True when somebody accepts connections on the port.
    static func answers(_ port: UInt16) -> Bool {
        guard let socket = try? Socket() else { return false }
        return socket.withAddress(port) { connect(socket.descriptor, $0, $1) } == 0
    }
}

/// A server whose connections the kernel accepts and nobody ever answers; it ends with the value's owner.
final class Listener {
    let port: UInt16
    private let socket: Socket

    init(backlog: Int32 = 4096) throws {
        socket = try Socket()
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket.descriptor
        guard socket.withAddress(0, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0,
            withUnsafeMutablePointer(
                to: &address,
                { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
                }
            ) == 0
        else { throw Complaint("cannot listen on 127.0.0.1: \(String(cString: strerror(errno)))") }
        port = UInt16(bigEndian: address.sin_port)
    }
}

private final class Socket {
    let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Complaint("no socket: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
    }

    func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
