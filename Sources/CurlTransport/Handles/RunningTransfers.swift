import CCurlNetworkingLibcurl

/// The transfers that run in one multi, in no particular order. Each knows its index, so it is removed without a search. Loop only.
struct RunningTransfers {
    private(set) var all: [EasyHandle] = []

    mutating func add(_ easy: EasyHandle) {
        easy.position = all.count
        all.append(easy)
    }

    /// The last transfer takes its position.
    mutating func remove(_ easy: EasyHandle) {
        let last = all.removeLast()
        guard last !== easy else { return }
        all[easy.position] = last
        last.position = easy.position
    }

    /// The transfers, perhaps paused ones, that have the connection of `socket`. libcurl names only the first transfer's socket.
    func transfers(on socket: Int32) -> some Sequence<EasyHandle> {
        let port = ConnectionEndpoints.localPort(of: socket)
        return all.lazy.filter { $0.info.localPort == port && (port > 0 || $0.info.hasSentHead) }
    }

    /// Whether a transfer, perhaps a paused one, has the connection of `socket`.
    func hasTransfer(besides easy: EasyHandle? = nil, on socket: Int32) -> Bool {
        transfers(on: socket).contains { $0 !== easy }
    }

    /// Whether a transfer has sent its request from `port`, and libcurl has not yet asked to have a socket watched for it: on a kept
    /// connection, libcurl may read much of the response, and pause, before it does. All Unix sockets have port 0.
    func hasUnwatchedTransfer(fromPort port: Int) -> Bool {
        all.contains { $0.socket == nil && $0.info.hasSentHead && $0.info.localPort == port }
    }

    /// Whether input on the connection from `port` may belong to a transfer: one that has sent its request, or an FTP session's commands,
    /// there, perhaps on its second connection, and isn't over.
    func hasTransfer(fromPort port: Int) -> Bool {
        hasUnwatchedTransfer(fromPort: port)
            || port > 0
                && all.contains { $0.info.mayReceive && !$0.hasResult && $0.info.localPort == port }
    }

    /// Whether a transfer other than `easy` has sent its request on that TLS connection, and still has it. Within libcurl.
    func hasTransfer(besides easy: EasyHandle, on session: UnsafeRawPointer) -> Bool {
        all.contains { $0 !== easy && $0.tls.session == session && $0.info.openSSLSession == session }
    }
}
