import CCurlNetworkingLibcurl

/// The transfers that libcurl won't continue by itself, and that would wait until they time out. Loop only.
///
/// They are those for which libcurl last asked to watch an invalid socket, because another transfer has lost the connection they shared,
/// and those whose sockets the system refuses to watch. If libcurl ran out of memory, any transfer may be one.
struct StrandedTransfers {
    private var handles: [EasyHandle] = []
    /// Whether libcurl has stopped in the middle of its work because memory ran out: any other transfer may be left without a socket or a
    /// timer.
    private var mayBeAny = false

    /// Whether there are certainly none.
    var isEmpty: Bool { handles.isEmpty && !mayBeAny }

    /// Called when libcurl asks for `socket`, or stops watching it. True if that leaves `easy` stranded.
    mutating func note(_ easy: EasyHandle?, _ socket: Int32, isWanted: Bool) -> Bool {
        // The last transfer to drop the invalid socket withdraws the requests of all others.
        if !handles.isEmpty { handles.removeAll { $0 === easy || (socket < 0 && !isWanted) } }
        guard socket < 0, isWanted, let easy else { return false }
        handles.append(easy)
        return true
    }

    /// Called with what libcurl returns when it is told to continue its transfers.
    mutating func note(_ code: CURLMcode) {
        if code == CURLM_OUT_OF_MEMORY { mayBeAny = true }
    }

    mutating func add(_ easy: EasyHandle) {
        handles.append(easy)
    }

    /// Called when the transfer is over.
    mutating func left(_ easy: EasyHandle) {
        if !handles.isEmpty { handles.removeAll { $0 === easy } }
    }

    /// Called before libcurl is made to look at every transfer: that makes up for what it left out, unless it lacks memory again.
    mutating func retry() {
        mayBeAny = false
    }

    /// Those to end, each with its result: `all` if it may be any. None is left.
    mutating func take(from all: some Sequence<EasyHandle>) -> [(EasyHandle, TransferResult)] {
        defer { removeAll() }
        let known = handles.map { ($0, TransferResult(code: CURLE_RECV_ERROR)) }
        return mayBeAny ? known + all.map { ($0, .lackOfMemory) } : known
    }

    mutating func removeAll() {
        self = StrandedTransfers()
    }
}
