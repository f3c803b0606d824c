import CCurlNetworkingLibcurl

/// Transfers for which libcurl last asked to watch an invalid socket: another transfer has lost the connection they shared, and libcurl
/// would let them wait until they time out. And those whose sockets the system refuses to watch. Loop only.
struct StrandedTransfers {
    private var handles: [EasyHandle] = []

    var isEmpty: Bool { handles.isEmpty }

    /// Called when libcurl asks for `socket`, or stops watching it. True if that leaves `easy` stranded.
    mutating func note(_ easy: EasyHandle?, _ socket: Int32, isWanted: Bool) -> Bool {
        // The last transfer to drop the invalid socket withdraws the requests of all others.
        if !handles.isEmpty { handles.removeAll { $0 === easy || (socket < 0 && !isWanted) } }
        guard socket < 0, isWanted, let easy else { return false }
        handles.append(easy)
        return true
    }

    mutating func add(_ easy: EasyHandle) {
        handles.append(easy)
    }

    /// Called when the transfer is over.
    mutating func left(_ easy: EasyHandle) {
        if !handles.isEmpty { handles.removeAll { $0 === easy } }
    }

    mutating func take() -> [EasyHandle] {
        defer { handles = [] }
        return handles
    }
}
