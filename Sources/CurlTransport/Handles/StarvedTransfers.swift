/// Transfers whose requests' bodies have nothing to send at the moment, and of which libcurl, which has read all that it wants to read, doesn't
/// watch the sockets: it wouldn't notice that a server has gone. Loop only.
struct StarvedTransfers {
    private var transfers: [Int32: EasyHandle] = [:]

    /// Called instead of ceasing to watch `socket`.
    mutating func add(_ easy: EasyHandle, on socket: Int32) {
        transfers[socket] = easy
    }

    /// Called when something has happened to a socket; nil unless it is such a transfer's.
    mutating func take(_ socket: Int32) -> EasyHandle? {
        transfers.isEmpty ? nil : transfers.removeValue(forKey: socket)
    }

    /// Called when the transfer is over. Its socket, if it is still such a one.
    mutating func left(_ easy: EasyHandle) -> Int32? {
        guard !transfers.isEmpty, let socket = transfers.first(where: { $0.value === easy })?.key else { return nil }
        transfers[socket] = nil
        return socket
    }
}
