import CurlNetworkingLoopbackServer
import Glibc

extension LoopbackServer {
    /// Gives this process's sockets that are connected to the server room for some 400,000 bytes: a connection is reset once all has been
    /// delivered, for which the system may otherwise have too little.
    func makeRoomAtClients() {
        for descriptor in Int32(3)..<4096 {
            var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            guard code == 0, address.sin_family == sa_family_t(AF_INET),
                Int(UInt16(bigEndian: address.sin_port)) == port
            else { continue }
            var size: Int32 = 1 << 20
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
