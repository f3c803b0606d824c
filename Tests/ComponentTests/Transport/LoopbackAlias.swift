import Glibc

/// One more address on the loopback interface, for as long as it is held: a harmless change of the system's network.
final class LoopbackAlias {
    /// Whether this process may make one.
    static var isPossible: Bool { LoopbackAlias() != nil }

    private static let name = "lo:41"
    private let socket: Int32

    init?() {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        guard setAddress() else {
            close(socket)
            return nil
        }
    }

    deinit {
        var request = Self.request()
        // SIOCSIFFLAGS without IFF_UP: an alias that is down is gone.
        _ = ioctl(socket, 0x8914, &request)
        close(socket)
    }

    /// SIOCSIFADDR, with 127.41.41.41.
    private func setAddress() -> Bool {
        var request = Self.request()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.41.41.41")
        withUnsafeBytes(of: address) { request.replaceSubrange(16..<32, with: $0) }
        return ioctl(socket, 0x8916, &request) == 0
    }

    /// A `struct ifreq`: the interface's name, and what to do with it.
    private static func request() -> [UInt8] {
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<name.utf8.count, with: name.utf8)
        return request
    }
}
