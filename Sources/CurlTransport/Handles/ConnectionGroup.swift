import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// The open sockets of the transfers to one origin. Loop only.
///
/// The context libcurl passes when it opens a connection's socket and when it closes the socket, long after the transfer that opened it. So
/// each open socket retains it.
///
/// `@unchecked Sendable`: mutable state is used only on the loop.
package final class ConnectionGroup: @unchecked Sendable {
    /// Loops live as long as the process.
    private unowned let loop: EventLoop
    /// The most connections there may be.
    private let limit: Int
    /// The loop's.
    let calls: CallWatch
    private(set) var sockets: Set<Int32> = []
    /// The `sockets` that other threads use, too.
    private var plainSockets: [Int32: PlainSocket] = [:]
    /// The sockets that carry a watched request, and how many bytes had arrived when it was sent.
    private var watched: [Int32: (watch: ResponseWatch, before: Int64)] = [:]
    /// Whether a connection has spoken HTTP/2.
    private var hasMultiplexed = false
    /// The sockets on which HTTP/2 was begun without TLS, whether or not the server speaks it.
    private var priorKnowledge: Set<Int32> = []
    /// How many transfers ran on a reused connection.
    package private(set) var reuseCount = 0
    /// Why the last socket couldn't be opened, if that was for lack of descriptors or memory.
    private(set) var lack: SystemError?

    package init(on loop: EventLoop, limit: Int = .max) {
        self.loop = loop
        self.limit = limit
        calls = loop.calls
    }

    deinit {
        assert(sockets.isEmpty, "an open socket retains its group")
    }

    /// How many sockets are open; while libcurl tries several addresses at once, each counts.
    package var openCount: Int { sockets.count }
    /// Whether a transfer without a connection waits in libcurl for room on one of these.
    var isFull: Bool { openCount >= limit }

    /// The open socket of the transfer's IP connection, which other transfers may share.
    func socket(of easy: EasyHandle) -> Int32? {
        easy.info.endpoints?.socket(among: sockets, guess: easy.socket)
    }

    /// Called at the end of a transfer that opened no connection.
    func noteReuse() {
        reuseCount += 1
    }

    /// Within libcurl. -1 if the system is out of sockets.
    func openSocket(family: Int32, type: Int32, protocolNumber: Int32) -> Int32 {
        let socket = loop.openSocket(family: family, type: type, protocolNumber: protocolNumber)
        let error = SystemError.current
        lack = socket < 0 && Self.lacks.contains(error.code) ? error : nil
        // Released in closeSocket(_:).
        if socket >= 0, sockets.insert(socket).inserted { _ = Unmanaged.passRetained(self) }
        return socket
    }

    private static let lacks = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    /// Within libcurl.
    func closeSocket(_ socket: Int32) {
        plainSockets.removeValue(forKey: socket)?.withdraw()
        priorKnowledge.remove(socket)
        if let (watch, before) = watched.removeValue(forKey: socket), let after = TCPSocket.bytesReceived(by: socket) {
            watch.connectionEnds(before: before, after: after)
        }
        loop.closeSocket(socket)
        if sockets.remove(socket) != nil { Unmanaged.passUnretained(self).release() }
    }

    /// `socket` for use by other threads, until libcurl closes it; nil if it isn't one of these.
    func plainSocket(_ socket: Int32) -> PlainSocket? {
        guard sockets.contains(socket) else { return nil }
        if let plainSocket = plainSockets[socket] { return plainSocket }
        let plainSocket = PlainSocket(socket)
        plainSockets[socket] = plainSocket
        // Other threads' reads would look like libcurl's own, and it only reads there, once in each call.
        calls.leaves(socket)
        return plainSocket
    }

    /// See `EventLoop`. Within libcurl.
    func hangUpReadable(onPort localPort: Int, hasLeftovers: Bool) {
        loop.hangUpReadable(onPort: localPort, hasLeftovers: hasLeftovers)
    }

    /// Called when the request is about to be sent from `localPort`. Within libcurl.
    func watchResponse(to easy: EasyHandle, onPort localPort: Int) {
        guard let watch = easy.handler?.responseWatch, easy.info.usesKeptConnection, easy.info.openSSLSession == nil
        else {
            return
        }
        for socket in loop.idleSockets(onPort: localPort) where sockets.contains(socket) {
            watched[socket] = TCPSocket.bytesReceived(by: socket).map { (watch, $0) }
        }
    }

    // MARK: - Sharing

    /// Whether some connection speaks HTTP/2 without TLS, so that other transfers can join it.
    package var hasPriorKnowledge: Bool { !priorKnowledge.isEmpty }

    /// Whether `easy` may send its request on the connection that libcurl has chosen. Once one connection to an origin speaks HTTP/2,
    /// libcurl shares them all, even those that speak HTTP/1.1: responses on those would go to the wrong requests
    /// (https://github.com/curl/curl/issues/4885). Within libcurl.
    func mayCarry(_ easy: EasyHandle) -> Bool {
        switch easy.sharing.priorKnowledge {
        case .begins?:
            // On a second connection, libcurl may have fallen back to HTTP/1.1, as RFC 9113 §7 lets a server demand.
            if easy.info.long(CURLINFO_NUM_CONNECTS) == 1 { priorKnowledge.formUnion(candidates(for: easy)) }
            return true
        case .joins?:
            return easy.info.usesKeptConnection && !priorKnowledge.isDisjoint(with: candidates(for: easy))
        case nil:
            return mayCarryTLS(easy)
        }
    }

    /// The socket of the connection that libcurl has chosen for `easy`; if that isn't IP, all that aren't.
    private func candidates(for easy: EasyHandle) -> Set<Int32> {
        let port = easy.info.localPort
        return sockets.filter { ConnectionEndpoints.localPort(of: $0) == port }
    }

    private func mayCarryTLS(_ easy: EasyHandle) -> Bool {
        guard let session = easy.info.openSSLSession else { return true }
        guard easy.info.negotiatedProtocol != "h2" else {
            hasMultiplexed = true
            return true
        }
        let isTaken = hasMultiplexed && easy.multi?.running.hasTransfer(besides: easy, on: session) == true
        easy.tls.session = isTaken ? nil : session
        return !isTaken
    }

    // MARK: - How many are in use

    /// How many of the open connections have a transfer or are about to get one; the rest are idle.
    package func inUseCount(_ usage: ConnectionUsage) -> Int {
        let used = sockets.count { ConnectionEndpoints(of: $0).map(usage.endpoints.contains) ?? false }
        return used + min(sockets.count - used, usage.unconnected[ObjectIdentifier(self)] ?? 0)
    }
}

/// Identifies a TCP connection of this machine. Used because libcurl before 8.2 doesn't reveal its own connection number.
struct ConnectionEndpoints: Hashable {
    var localPort: Int
    var remotePort: Int
    /// As `inet_ntop` writes it.
    var remoteAddress: String

    init?(localPort: Int, remotePort: Int, remoteAddress: String?) {
        guard let remoteAddress, localPort > 0 else { return nil }
        (self.localPort, self.remotePort, self.remoteAddress) = (localPort, remotePort, remoteAddress)
    }

    /// nil for a socket that isn't connected, or isn't IP.
    init?(of socket: Int32) {
        guard let local = Self.address(of: socket, getsockname), let remote = Self.address(of: socket, getpeername)
        else { return nil }
        self.init(localPort: local.port, remotePort: remote.port, remoteAddress: remote.host)
    }

    /// Returns this connection's socket among the open `sockets`. Tries `guess` first, and the others only if that is
    /// wrong: each look takes two system calls, and thousands of transfers may time out at once.
    func socket(
        among sockets: Set<Int32>,
        guess: Int32?,
        look: (Int32) -> ConnectionEndpoints? = { ConnectionEndpoints(of: $0) }
    ) -> Int32? {
        if let guess, sockets.contains(guess), look(guess) == self { return guess }
        return sockets.first { look($0) == self }
    }

    /// 0 for a socket that isn't bound, or isn't IP.
    static func localPort(of socket: Int32) -> Int {
        address(of: socket, getsockname)?.port ?? 0
    }

    private typealias Getter = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    private static func address(of socket: Int32, _ get: Getter) -> (host: String, port: Int)? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let address = UnsafeMutableRawPointer(storage).assumingMemoryBound(to: sockaddr.self)
            guard get(socket, address, &length) == 0 else { return nil }
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            let port: in_port_t
            switch Int32(address.pointee.sa_family) {
            case AF_INET:
                var v4 = UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in.self)
                port = v4.sin_port
                inet_ntop(AF_INET, &v4.sin_addr, &text, socklen_t(text.count))
            case AF_INET6:
                var v6 = UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in6.self)
                port = v6.sin6_port
                inet_ntop(AF_INET6, &v6.sin6_addr, &text, socklen_t(text.count))
            default:
                return nil
            }
            let host = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return (String(decoding: host, as: UTF8.self), Int(in_port_t(bigEndian: port)))
        }
    }
}

/// The connections that a multi's transfers run on. Gathered on request.
package struct ConnectionUsage {
    var endpoints: Set<ConnectionEndpoints> = []
    /// For each group, how many transfers have no connection yet, or one that isn't IP.
    var unconnected: [ObjectIdentifier: Int] = [:]

    package init() {}

    mutating func add(_ easy: EasyHandle) {
        if let endpoints = easy.info.endpoints {
            self.endpoints.insert(endpoints)
        } else if let group = easy.connections {
            unconnected[ObjectIdentifier(group), default: 0] += 1
        }
    }
}
