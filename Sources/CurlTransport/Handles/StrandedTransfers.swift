import CCurlNetworkingLibcurl

/// The transfers for which libcurl has last asked for a socket that is none: another transfer has lost the connection they shared, and
/// libcurl would leave them waiting until they time out. Loop only.
struct StrandedTransfers {
    private var handles: [EasyHandle] = []

    var isEmpty: Bool { handles.isEmpty }

    /// libcurl asks for `socket`, or has no more use for it. True where `easy` is stranded with it.
    mutating func note(_ easy: EasyHandle?, _ socket: Int32, isWanted: Bool) -> Bool {
        // The last one to leave the socket that is none takes back what all others have asked.
        if !handles.isEmpty { handles.removeAll { $0 === easy || (socket < 0 && !isWanted) } }
        guard socket < 0, isWanted, let easy else { return false }
        handles.append(easy)
        return true
    }

    /// The transfer is over.
    mutating func left(_ easy: EasyHandle) {
        if !handles.isEmpty { handles.removeAll { $0 === easy } }
    }

    mutating func take() -> [EasyHandle] {
        defer { handles = [] }
        return handles
    }
}
