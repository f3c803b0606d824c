import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// A libcurl multi handle on an event loop: a connection pool and the transfers that run on it.
///
/// libcurl's handle itself, which holds two descriptors, exists only while it is needed: from the first transfer until there have been
/// neither transfers nor connections for a while (`ConnectionLimits.idleLifetime`), and again from the next transfer on.
///
/// Loop only. It is alive from `init` to `close()`, which its owner must call; `deinit` only checks that.
package final class Multi {
    package let loop: EventLoop
    private let limits: ConnectionLimits
    let quirks: CurlQuirks
    private var handle: UnsafeMutableRawPointer?
    private var id: UInt32 = 0
    private var isClosed = false

    /// Unchecked for the reason that a `Deadline` gives.
    @exclusivity(unchecked) private var running = RunningTransfers()

    /// The open channels, by their sockets. Their handles are in `running`, too.
    private var channels: [Int32: Channel] = [:]

    /// libcurl's timer.
    private lazy var deadline = Deadline { [unowned self] in runTimers() }
    private var timers = Timers()
    /// Handles whose handlers were called since they were last settled, each once.
    private var unsettled = WorkList<EasyHandle>()
    private var isSettlingSoon = false
    @exclusivity(unchecked) private var stalledInput: HTTP2StalledInput?
    private var isLookingSoon = false
    /// Handles whose transfers ended while paused, and have been resumed.
    private var continued: [EasyHandle] = []
    @exclusivity(unchecked) private var stranded = StrandedTransfers()
    /// Lives as long as `handle`.
    private var tlsSessions: TLSSessionCache?
    private var noConnections: NoConnections?
    private var idleClock: IdleClock
    private lazy var idleDeadline = Deadline { [unowned self] in closeIdleHandle() }

    private struct Timers {
        /// libcurl has set its timer to 0 ms: it fires in the next round of the turn.
        var areDue = false
        /// How often they have run.
        var runs = 0
    }

    /// Throws if the loop can't run transfers.
    package init(
        loop: EventLoop,
        limits: ConnectionLimits,
        quirks: CurlQuirks = .current
    ) throws(TransferFailure) {
        loop.preconditionOnLoop()
        CurlLibrary.initialize()
        if let failure = loop.failure {
            throw TransferFailure(
                code: .failedInit,
                text: "The event loop could not be created: \(failure).",
                systemErrno: failure.code
            )
        }
        self.loop = loop
        self.limits = limits
        self.quirks = quirks
        stalledInput = quirks.forgetsHTTP2Input ? HTTP2StalledInput() : nil
        idleClock = IdleClock(lifetime: limits.idleLifetime)
        id = loop.register(self)
    }

    deinit {
        assert(isClosed, "a Multi must be closed on its loop")
    }

    /// Ends every transfer without calling its handler, closes all connections and frees the handle.
    package func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        while let easy = running.all.last { remove(easy) }
        closeHandle()
        loop.unregister(id)
        unsettled.removeAll()
        continued = []
        stranded.removeAll()
    }

    // MARK: - libcurl's handle

    private func openHandle() throws(TransferFailure) -> UnsafeMutableRawPointer {
        if let handle { return handle }
        guard let handle = curl_multi_init() else {
            throw TransferFailure(code: .outOfMemory, text: CurlCode.outOfMemory.text)
        }
        self.handle = handle
        if quirks.keepsTLSSessionsPerHandle { tlsSessions = TLSSessionCache() }
        if quirks.looksThroughConnections { noConnections = NoConnections() }
        // Released in closeHandle(): libcurl makes callbacks until curl_multi_cleanup has returned.
        let context = Unmanaged.passRetained(self).toOpaque()
        _ = clibcurl_multi_set_socket(handle, Callbacks.socket)
        _ = clibcurl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, context)
        _ = clibcurl_multi_set_timer(handle, Callbacks.timer)
        _ = clibcurl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, context)
        limits.apply(to: handle)
        return handle
    }

    /// Closes the connections, too. Outside of libcurl, without transfers.
    private func closeHandle() {
        guard let handle else { return }
        curl_multi_cleanup(handle)
        self.handle = nil
        tlsSessions = nil
        noConnections = nil
        idleClock.closed()
        timers.areDue = false
        loop.cancel(deadline)
        loop.cancel(idleDeadline)
        Unmanaged.passUnretained(self).release()
    }

    /// Whether libcurl's handle exists, and so holds descriptors.
    var hasHandle: Bool { handle != nil }

    /// Called when the last transfer or connection has ended.
    private func becameIdle() {
        guard handle != nil else { return }
        idleClock.start(at: loop.now)
        // Firing too early and rescheduling costs less than rescheduling for every transfer.
        guard !idleDeadline.isScheduled || idleDeadline.time > idleClock.end else { return }
        loop.schedule(idleDeadline, at: idleClock.end)
    }

    private func closeIdleHandle() {
        guard running.all.isEmpty else { return }
        if loop.now < idleClock.end { return loop.schedule(idleDeadline, at: idleClock.end) }
        closeHandle()
    }

    /// Called by the loop, also within libcurl.
    func connectionBegan() {
        idleClock.connectionBegan()
    }

    /// Called by the loop, also within libcurl.
    func connectionEnded() {
        idleClock.connectionEnded()
        if running.all.isEmpty { becameIdle() }
    }

    /// Whether a transfer has the connection of `socket`, perhaps one that is paused. libcurl names the socket of the first one only.
    func hasTransfer(on socket: Int32) -> Bool {
        let port = ConnectionEndpoints.localPort(of: socket)
        return running.all.contains { $0.longInfo(CURLINFO_LOCAL_PORT) == port }
    }

    /// Adds the connections that its transfers are running on.
    package func add(to usage: inout ConnectionUsage) {
        loop.preconditionOnLoop()
        for easy in running.all { usage.add(easy) }
    }

    /// How many transfers are running.
    package var transferCount: Int { running.all.count }

    // MARK: - Transfers

    /// Starts a transfer; `handler` is retained until it has finished or been cancelled. Throws libcurl's code if an option is refused or
    /// memory runs out; then nothing has started.
    package func start(
        _ options: some EasyOptions,
        handler: any TransferHandler,
        hooks: TransferHooks? = nil
    ) throws(TransferFailure) -> EasyHandle {
        loop.preconditionOnLoop()
        guard !isClosed, let easy = EasyHandle() else {
            throw TransferFailure(code: .failedInit, text: CurlCode.failedInit.text)
        }
        try easy.configure(options, on: loop)
        if let hooks { try easy.install(hooks) }
        let handle = try openHandle()
        if let tlsSessions { easy.join(tlsSessions) }
        easy.start(in: self, for: handler)
        let code = curl_multi_add_handle(handle, easy.handle)
        guard code == CURLM_OK else {
            easy.stop()
            easy.leaveTLSSessions()
            if running.all.isEmpty { becameIdle() }
            throw TransferFailure(
                code: code == CURLM_OUT_OF_MEMORY ? .outOfMemory : .failedInit,
                text: String(cString: curl_multi_strerror(code))
            )
        }
        running.add(easy)
        loop.transferCount += 1
        return easy
    }

    /// Ends a transfer at once, without another call to its handler. Its connection is closed unless the exchange was complete.
    package func cancel(_ easy: EasyHandle) {
        loop.preconditionOnLoop()
        guard easy.handler != nil else { return }
        remove(easy)
        needsSettling()
        needsLooking()
    }

    /// `wasOver` if libcurl has reported its end.
    private func remove(_ easy: EasyHandle, wasOver: Bool = false) {
        stalledInput?.left(easy, wasOver: wasOver)
        stranded.left(easy)
        if isOpenChannel(easy), let socket = easy.socket {
            channels[socket] = nil
            loop.unwatch(socket)
        }
        easy.stop()
        curl_multi_remove_handle(handle, easy.handle)
        easy.leaveTLSSessions()
        loop.transferCount -= 1
        running.remove(easy)
        if running.all.isEmpty, !isClosed { becameIdle() }
    }

    /// Makes libcurl look again at the transfers that wait for the connection `opener` opened: newer versions share it only after its first
    /// response, and don't look again at that point. Outside of libcurl.
    package func reviewWaiting(behind opener: EasyHandle) {
        loop.preconditionOnLoop()
        guard let handle, transferCount > 1, opener.longInfo(CURLINFO_NUM_CONNECTS) > 0, let guest = curl_easy_init()
        else { return }
        // It looks whenever a transfer leaves.
        if curl_multi_add_handle(handle, guest) == CURLM_OK { curl_multi_remove_handle(handle, guest) }
        curl_easy_cleanup(guest)
        needsSettling()
    }

    // MARK: - Called by the loop

    func socketBecameReady(_ event: ReadySocket) {
        guard !isClosed else { return }
        if let channel = channels[event.socket] { return channel.becameReady(event.readiness) }
        var action: Int32 = 0
        if event.readiness & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { action |= CURL_CSELECT_IN }
        if event.readiness & EPOLLOUT.rawValue != 0 { action |= CURL_CSELECT_OUT }
        if event.readiness & EPOLLERR.rawValue != 0 { action |= CURL_CSELECT_ERR }
        act(on: event.socket, action)
        // Otherwise the next socket's event would make libcurl continue this one's transfer, too.
        settleHandlers()
    }

    /// How often `runTimers` has had libcurl run its timers.
    var timerRuns: Int { timers.runs }

    /// Runs libcurl's own timers, such as work that it put off to the next turn.
    func runTimers() {
        guard handle != nil else { return }
        timers.runs += 1
        act(on: CURL_SOCKET_BAD, 0)
    }

    private func act(on socket: Int32, _ action: Int32) {
        guard let handle else { return }
        var stillRunning: Int32 = 0
        let code = curl_multi_socket_action(handle, socket, action, &stillRunning)
        stranded.note(code)
        needsSettling()
        needsLooking()
    }

    private func needsLooking() {
        guard !isLookingSoon, stalledInput?.isIdle == false else { return }
        isLookingSoon = true
        loop.lookSoon(self)
    }

    /// Called by the loop before it sleeps. True if that may have produced something to do.
    func lookAgain() -> Bool {
        isLookingSoon = false
        guard !isClosed, let sockets = stalledInput?.takeSockets(), !sockets.isEmpty else { return false }
        for socket in sockets {
            act(on: socket, CURL_CSELECT_IN)
            settleHandlers()
        }
        return true
    }

    /// Makes libcurl look at every transfer, whether anything has happened to it or not. Outside of libcurl.
    package func runAll() {
        loop.preconditionOnLoop()
        guard let handle else { return }
        var stillRunning: Int32 = 0
        let code = clibcurl_multi_run_all(handle, &stillRunning)
        stranded.note(code)
        needsSettling()
    }

    /// Called by the loop outside of libcurl: lets handlers act on what they recorded, and finishes transfers that are over.
    func settle() {
        isSettlingSoon = false
        guard !isClosed else { return }
        settleHandlers()
        finishTransfers()
        if !stranded.isEmpty { endStranded() }
        if timers.areDue && !isClosed {
            timers.areDue = false
            runTimers()
        }
    }

    /// Before libcurl is called again: a handler that has enough pauses its transfer before libcurl reads more.
    private func settleHandlers() {
        guard !unsettled.isEmpty else { return }
        let settling = unsettled.take()
        for easy in settling {
            stalledInput?.heard(easy)
            easy.settle()
        }
        unsettled.takeBack(settling)
    }

    private func finishTransfers() {
        while let easy = continued.popLast() {
            if let result = easy.takeResult() { finish(easy, result) }
        }
        var remaining: Int32 = 0
        while let handle, let message = curl_multi_info_read(handle, &remaining) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = EasyHandle.of(message.pointee.easy_handle) else {
                continue
            }
            let result = TransferResult(code: clibcurl_message_result(message))
            // Now, not when the end is reported, which can be later: by then the number may be another socket's.
            if result.code == CURLE_OK, !easy.opensChannel, let socket = easy.socket, let traffic = easy.idleTraffic {
                loop.becameIdle(socket, traffic)
            }
            if !easy.opensChannel { noConnections?.replaceConnection(of: easy) }
            if easy.isPaused { easy.keep(result) } else { finish(easy, result) }
        }
    }

    /// Called once libcurl has had a chance to do what it has planned for them.
    private func endStranded() {
        stranded.retry()
        runAll()
        settleHandlers()
        finishTransfers()
        let waiting = running.all.lazy.filter { !self.isOpenChannel($0) }
        for (easy, result) in stranded.take(from: waiting) { end(easy, result) }
    }

    /// Ends a transfer unless it has ended meanwhile.
    private func end(_ easy: EasyHandle, _ result: TransferResult) {
        guard easy.multi === self, !easy.hasResult else { return }
        if easy.isPaused { easy.keep(result) } else { finish(easy, result) }
    }

    /// Whether libcurl has made a channel's connection, and has nothing more to do with it.
    private func isOpenChannel(_ easy: EasyHandle) -> Bool {
        guard easy.opensChannel, let socket = easy.socket else { return false }
        return channels[socket] === easy.handler
    }

    private func finish(_ easy: EasyHandle, _ result: TransferResult) {
        let failure = result.code == CURLE_OK ? nil : easy.failure(result.code, systemErrno: result.systemErrno)
        if failure?.isOnKeptConnection ?? (easy.longInfo(CURLINFO_NUM_CONNECTS) == 0) {
            easy.connections?.noteReuse()
        }
        let handler = easy.handler
        if failure == nil, easy.opensChannel, let channel = handler as? Channel, let socket = easy.activeSocket {
            easy.socket = socket
            channels[socket] = channel
            return channel.opened(socket)
        }
        remove(easy, wasOver: failure == nil)
        // It may still query the handle.
        handler?.transferFinished(failure)
    }

    /// Reports, soon, the end of a transfer that came while it was paused. Outside of libcurl.
    func finishSoon(_ easy: EasyHandle) {
        continued.append(easy)
        needsSettling()
    }

    /// Watches a channel's socket, of which libcurl knows nothing. Outside of libcurl.
    func watch(_ socket: Int32, for interest: SocketInterest) {
        guard !loop.watch(socket, for: interest, owner: id) else { return }
        if let easy = running.all.first(where: { $0.socket == socket }) { isUnwatched(easy) }
    }

    /// The system refuses to watch its socket: the transfer would get no more events, so it ends soon.
    private func isUnwatched(_ easy: EasyHandle) {
        stranded.add(easy)
        needsSettling()
    }

    // MARK: - Callbacks, within libcurl: record only

    /// `easy` is the handle that caused the change, if it is one of ours. `socket` is negative if the connection is already gone.
    func socketInterestChanged(_ socket: Int32, _ what: Int32, of easy: EasyHandle?) {
        let isWanted = what != CURL_POLL_REMOVE && what != CURL_POLL_NONE
        if stranded.note(easy, socket, isWanted: isWanted) { needsSettling() }
        guard socket >= 0 else { return }
        if isWanted { easy?.socket = socket }
        let isWatched =
            switch what {
            case CURL_POLL_IN: loop.watch(socket, for: .read, owner: id)
            case CURL_POLL_OUT: loop.watch(socket, for: .write, owner: id)
            case CURL_POLL_INOUT: loop.watch(socket, for: [.read, .write], owner: id)
            default: true
            }
        if what == CURL_POLL_REMOVE { loop.unwatch(socket) }
        if !isWatched, let easy { isUnwatched(easy) }
    }

    /// `milliseconds` is -1 to cancel the timer and 0 for "as soon as you are out of libcurl".
    func timerChanged(_ milliseconds: Int) {
        guard handle != nil, !isClosed else { return }
        timers.areDue = milliseconds == 0
        if milliseconds > 0 {
            loop.schedule(deadline, at: loop.now + .milliseconds(milliseconds))
        } else {
            loop.cancel(deadline)
        }
        if timers.areDue { needsSettling() }
    }

    func needsSettling(_ easy: EasyHandle) {
        unsettled.append(easy)
        needsSettling()
    }

    func needsSettling() {
        guard !isSettlingSoon else { return }
        isSettlingSoon = true
        loop.settleSoon(self)
    }
}
