import CCurlNetworkingLibcurl

/// The transfers that libcurl won't continue by itself, and which would wait until they time out. Loop only.
///
/// They are those for which libcurl last asked to watch an invalid socket, because another transfer lost the connection they shared, and
/// those whose sockets the system refuses to watch.
struct StrandedTransfers {
    private var transfers: [(easy: EasyHandle, result: TransferResult)] = []

    var isEmpty: Bool { transfers.isEmpty }

    /// Called when libcurl asks for `socket`, or stops watching it. True if that leaves `easy` stranded.
    mutating func note(_ easy: EasyHandle?, _ socket: Int32, isWanted: Bool) -> Bool {
        // The last transfer to drop the invalid socket withdraws the requests of all others.
        if !transfers.isEmpty { transfers.removeAll { $0.easy === easy || (socket < 0 && !isWanted) } }
        guard socket < 0, isWanted, let easy else { return false }
        add(easy, TransferResult(code: CURLE_RECV_ERROR))
        return true
    }

    /// - Parameter result: How the transfer ends if libcurl doesn't continue it after all.
    mutating func add(_ easy: EasyHandle, _ result: TransferResult) {
        transfers.append((easy, result))
    }

    /// Called when the transfer is over.
    mutating func left(_ easy: EasyHandle) {
        if !transfers.isEmpty { transfers.removeAll { $0.easy === easy } }
    }

    /// Removes and returns the transfers to end, each with its result.
    mutating func take() -> [(easy: EasyHandle, result: TransferResult)] {
        defer { transfers = [] }
        return transfers
    }
}
