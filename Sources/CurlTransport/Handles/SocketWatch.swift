import CCurlNetworkingLibcurl

/// Has the loop watch the sockets that a multi's libcurl and channels ask for, and sees to the transfers that would wait for one in vain;
/// `MissedSockets` has the state. Loop only.
struct SocketWatch {
    let multi: Multi

    // MARK: - Within libcurl: record only

    /// `easy` is the handle that caused the change, if it is one of ours. `socket` is negative if the connection is already gone.
    func interestChanged(_ socket: Int32, _ what: Int32, of easy: EasyHandle?) {
        let isWanted = what != CURL_POLL_REMOVE && what != CURL_POLL_NONE
        if multi.missed.stranded.note(easy, socket, isWanted: isWanted) { multi.scheduleSettling() }
        guard socket >= 0 else { return }
        if socket == multi.missed.unheard { multi.missed.unheard = nil }
        if isWanted { easy?.opened = multi.loop.current(socket) }
        if multi.quirks.forgetsNextAddress, what == CURL_POLL_REMOVE, let easy, easy.phase == .connecting {
            multi.missed.betweenAddresses.append(easy)
            multi.scheduleSettling()
        }
        _ = multi.missed.starved.take(socket)
        let isWatched =
            switch what {
            case CURL_POLL_IN: watch(socket, for: .read, of: easy)
            case CURL_POLL_OUT: watch(socket, for: .write, of: easy)
            case CURL_POLL_INOUT: watch(socket, for: [.read, .write], of: easy)
            case CURL_POLL_REMOVE: unwatch(socket, of: easy)
            default: true
            }
        if !isWatched { isRefused(socket, of: easy) }
    }

    private func watch(_ socket: Int32, for interest: SocketInterest, of easy: EasyHandle?) -> Bool {
        multi.loop.watch(socket, for: interest, owner: multi.id, by: easy.map { ObjectIdentifier($0) })
    }

    /// Called when libcurl wants no more events of `socket`. False if the system refuses to watch for its end.
    private func unwatch(_ socket: Int32, of easy: EasyHandle?) -> Bool {
        guard let easy, !easy.isPaused, easy.handler?.isStarved == true else {
            multi.loop.unwatch(socket)
            return true
        }
        multi.missed.starved.add(easy, on: multi.loop.current(socket))
        return multi.loop.watch(socket, for: .end, owner: multi.id)
    }

    /// Called when the system refuses to watch `socket`. If that is one of libcurl's own, it won't hear of names that are looked up.
    private func isRefused(_ socket: Int32, of easy: EasyHandle?) {
        if let easy { return strand(easy) }
        multi.missed.unheard = socket
        for easy in multi.running.all where easy.phase == .resolving { strand(easy) }
    }

    /// The transfer would get no more events of its socket, so it ends soon. Also outside of libcurl.
    private func strand(_ easy: EasyHandle) {
        multi.missed.stranded.add(easy, .unwatched)
        multi.scheduleSettling()
    }

    // MARK: - Outside of libcurl

    /// Watches a channel's socket, which libcurl knows nothing about.
    func watch(_ socket: Int32, for interest: SocketInterest) {
        guard !multi.loop.watch(socket, for: interest, owner: multi.id) else { return }
        if let easy = multi.running.all.first(where: { $0.socket == socket }) { strand(easy) }
    }

    /// Tries once more to watch the socket on which libcurl hears of names looked up, perhaps for `easy`, which has started.
    func watchUnheard(for easy: EasyHandle) {
        guard let socket = multi.missed.unheard else { return }
        if multi.loop.watch(socket, for: .read, owner: multi.id) { multi.missed.unheard = nil } else { strand(easy) }
    }

    /// Called when something has happened to `socket`. True if a starved transfer has lost it.
    func endsStarved(on socket: Int32) -> Bool {
        guard let easy = multi.missed.starved.take(socket) else { return false }
        multi.loop.unwatch(socket)
        easy.handler?.transferLostConnection()
        return true
    }

    /// Called when the transfer is over.
    func left(_ easy: EasyHandle) {
        multi.missed.stranded.left(easy)
        if let socket = multi.missed.starved.left(easy), socket == multi.loop.current(socket.number) {
            multi.loop.unwatch(socket.number)
        }
    }

    /// Called once the handlers have settled: libcurl has had a chance to continue the transfers.
    func settle() {
        if !multi.missed.stranded.isEmpty { endStranded() }
        if !multi.missed.betweenAddresses.isEmpty { tryNextAddresses() }
    }

    private func endStranded() {
        multi.runAll()
        multi.settleHandlers()
        multi.finishTransfers()
        for (easy, result) in multi.missed.stranded.take() where easy.multi === multi && !easy.hasResult {
            multi.end(easy, result)
        }
    }

    /// Makes libcurl continue, soon, with the transfers whose attempt to connect has failed.
    private func tryNextAddresses() {
        let transfers = multi.missed.betweenAddresses
        multi.missed.betweenAddresses = []
        for easy in transfers { multi.lookAgain(at: easy) }
    }
}
