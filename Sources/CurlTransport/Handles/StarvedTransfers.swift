/// Transfers whose requests' bodies have nothing to send at the moment, and of which libcurl, which has read all that it wants to read, doesn't
/// watch the sockets: it wouldn't notice that a server has gone. Loop only.
struct StarvedTransfers {
    private var transfers: [Int32: (easy: EasyHandle, socket: OpenedSocket)] = [:]

    /// Called instead of ceasing to watch `socket`.
    mutating func add(_ easy: EasyHandle, on socket: OpenedSocket) {
        transfers[socket.number] = (easy, socket)
    }

    /// Called when something has happened to a socket; nil unless it is such a transfer's.
    mutating func take(_ socket: Int32) -> EasyHandle? {
        transfers.isEmpty ? nil : transfers.removeValue(forKey: socket)?.easy
    }

    /// Called when the transfer is over. Its socket, if it was such a one until then; libcurl may have closed that.
    mutating func left(_ easy: EasyHandle) -> OpenedSocket? {
        guard !transfers.isEmpty, let found = transfers.first(where: { $0.value.easy === easy }) else { return nil }
        transfers[found.key] = nil
        return found.value.socket
    }
}
