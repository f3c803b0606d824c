/// Transfers whose request bodies have nothing to send at the moment, and whose sockets libcurl, which has read all it wants, doesn't
/// watch: it wouldn't notice that a server has gone. Loop only.
struct StarvedTransfers {
    private var transfers: [Int32: EasyHandle] = [:]
    private var sockets: [ObjectIdentifier: OpenedSocket] = [:]

    /// Called instead of unwatching `socket`.
    mutating func add(_ easy: EasyHandle, on socket: OpenedSocket) {
        if let former = sockets.updateValue(socket, forKey: ObjectIdentifier(easy)) { transfers[former.number] = nil }
        if let former = transfers.updateValue(easy, forKey: socket.number) {
            sockets[ObjectIdentifier(former)] = nil
        }
    }

    /// Called when something has happened to a socket. Returns its starved transfer, if any.
    mutating func take(_ socket: Int32) -> EasyHandle? {
        guard !transfers.isEmpty, let easy = transfers.removeValue(forKey: socket) else { return nil }
        sockets[ObjectIdentifier(easy)] = nil
        return easy
    }

    /// Called when the transfer is over. Returns its socket if it was starved; libcurl may have closed that.
    mutating func left(_ easy: EasyHandle) -> OpenedSocket? {
        guard !sockets.isEmpty, let socket = sockets.removeValue(forKey: ObjectIdentifier(easy)) else { return nil }
        transfers[socket.number] = nil
        return socket
    }
}
