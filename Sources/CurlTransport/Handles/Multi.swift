import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import Glibc

/// A libcurl multi handle on an event loop: a connection pool and the transfers that run on it.
///
/// libcurl's handle itself, which holds two descriptors, exists only while it is needed: from the first transfer until transfers and
/// connections have been absent for `ConnectionLimits.idleLifetime`, and again from the next transfer on.
///
/// Loop only. It is alive from `init` to `close()`, which its owner must call; `deinit` only checks that.
package final class Multi {
    package let loop: EventLoop
    private var limits: ConnectionLimits
    let quirks: CurlQuirks
    /// nil while it isn't needed.
    private var handle: MultiHandle?
    private(set) var id: UInt32 = 0
    private(set) var isClosed = false

    /// Unchecked, like the other such properties, for the reason given in `Deadline`.
    @exclusivity(unchecked) private(set) var running = RunningTransfers()

    /// The open channels, by their sockets. Their handles are in `running`, too.
    private var channels: [Int32: Channel] = [:]

    /// libcurl's timer.
    private lazy var deadline = Deadline { [unowned self] in runTimers() }
    private var timers = Timers()
    /// Handles whose handlers were called since they were last settled, each once.
    @exclusivity(unchecked) private var unsettled = WorkList<EasyHandle>()
    /// Which calls the loop has been asked for.
    @exclusivity(unchecked) var isScheduled = (settling: false, recheck: false)
    @exclusivity(unchecked) var stalledInput: HTTP2StalledInput?
    @exclusivity(unchecked) var silentBreaks: SilentBreaks?
    @exclusivity(unchecked) private var heldResets: HeldResets?
    /// Handles whose transfers ended while paused, and have been resumed.
    @exclusivity(unchecked) private var continued: [EasyHandle] = []
    @exclusivity(unchecked) var missed = MissedSockets()
    private var idleClock: IdleClock
    private lazy var idleDeadline = Deadline { [unowned self] in closeIdleHandle() }

    private struct Timers {
        /// Whether libcurl has set its timer to 0 ms: it fires in the turn's next round.
        var areDue = false
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
        try loop.makeReady()
        self.loop = loop
        self.limits = limits
        self.quirks = quirks
        idleClock = IdleClock(lifetime: limits.idleLifetime)
        id = loop.register(self)
        if quirks.forgetsHTTP2Input {
            stalledInput = HTTP2StalledInput(timedReads: Deadline { [unowned self] in recheck.readOnTime() })
        }
        if quirks.breaksHTTP2Silently { silentBreaks = SilentBreaks() }
        if quirks.holdsResetsBack {
            heldResets = HeldResets(deadline: Deadline { [unowned self] in sendHeldResets() })
        }
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
        missed.removeAll()
    }

    // MARK: - libcurl's handle

    private func openHandle() throws(TransferFailure) -> UnsafeMutableRawPointer {
        if let pointer = handle?.usable { return pointer }
        // A broken handle is about to be closed.
        guard !hasHandle, let handle = MultiHandle(for: self, limits: limits, quirks: quirks) else {
            throw TransferFailure(code: .outOfMemory, text: CurlCode.outOfMemory.text, systemErrno: ENOMEM)
        }
        self.handle = handle
        return handle.pointer
    }

    /// Closes the connections, too. Outside of libcurl, with no transfers.
    private func closeHandle() {
        guard let open = handle else { return }
        loop.calls.within { open.close() }
        (handle, missed.unheard) = (nil, nil)
        idleClock.closed()
        timers.areDue = false
        loop.cancel(deadline)
        if let reads = stalledInput?.timedReads { loop.cancel(reads) }
        if let resets = heldResets?.deadline { loop.cancel(resets) }
        loop.cancel(idleDeadline)
        // The handle's: it makes no more callbacks.
        Unmanaged.passUnretained(self).release()
    }

    /// Lifts the limit on connections to each host. Outside of libcurl.
    package func liftHostLimit() {
        guard limits.perHost != nil else { return }
        limits.perHost = nil
        handle?.liftHostLimit()
    }

    /// Whether libcurl's handle exists, and so holds descriptors.
    var hasHandle: Bool { handle != nil }

    /// Whether libcurl ran out of memory, and all transfers are about to end.
    var isBroken: Bool { handle?.isBroken == true }

    /// Called when the last transfer or connection has ended.
    private func becameIdle() {
        guard hasHandle else { return }
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

    /// Adds the connections that its transfers are running on.
    package func add(to usage: inout ConnectionUsage) {
        loop.preconditionOnLoop()
        for easy in running.all { usage.add(easy) }
    }

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
        if let hooks {
            try easy.install(hooks)
            try options.applyFixed(to: easy)
        }
        let handle = try openHandle()
        if let tlsSessions = self.handle?.tlsSessions { easy.join(tlsSessions) }
        easy.start(in: self, for: handler)
        let code = loop.calls.within { curl_multi_add_handle(handle, easy.handle) }
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
        sockets.watchUnheard(for: easy)
        return easy
    }

    /// Ends a transfer at once, without another call to its handler. Its connection is closed unless the exchange was complete.
    package func cancel(_ easy: EasyHandle) {
        loop.preconditionOnLoop()
        guard easy.handler != nil else { return }
        remove(easy)
        scheduleSettling()
        recheck.schedule()
    }

    /// `result` is nil if the transfer's end wasn't reported.
    private func remove(_ easy: EasyHandle, _ result: TransferResult? = nil) {
        stalledInput?.left(easy, result, hasOthers: running.all.count > 1)
        sockets.left(easy)
        if isOpenChannel(easy), let socket = easy.socket {
            channels[socket] = nil
            loop.unwatch(socket)
        }
        if result?.isOfCallback != false, easy.sharing.refusal == nil { noteHeldReset(by: easy) }
        easy.stop()
        // libcurl then frees the bytes it holds of the body, which no longer have a taker; see `CurlQuirks.leaksPausedBytes`.
        if quirks.leaksPausedBytes, result == nil, easy.http2Input.isMultiplexed == true {
            _ = pause(easy, CURLPAUSE_CONT)
        }
        _ = loop.calls.within { curl_multi_remove_handle(handle?.pointer, easy.handle) }
        easy.leaveTLSSessions()
        loop.transferCount -= 1
        running.remove(easy)
        if running.all.isEmpty, !isClosed { becameIdle() }
    }

    /// Called before a transfer whose response isn't over leaves libcurl.
    private func noteHeldReset(by easy: EasyHandle) {
        // A connection that isn't IP is known only by the transfer for which libcurl has the socket watched.
        guard heldResets != nil, !isClosed, easy.speaksHTTP2,
            let socket = easy.connectedSocket.map(loop.current) ?? easy.opened
        else { return }
        let due = loop.now + HeldResets.patience
        heldResets?.add(.init(socket: socket, localPort: easy.info.localPort, due: due))
        heldResets?.arm(on: loop)
    }

    private func sendHeldResets() {
        for connection in heldResets?.take(at: loop.now) ?? [] {
            let sharers = Array(running.transfers(on: connection.socket.number))
            // A paused one will take the reset along when it continues: libcurl then sends a window update.
            if let sharer = sharers.first(where: isRunning) { wake(sharer) }
            if sharers.isEmpty { loop.hangUp(connection.socket, of: self) }
        }
        heldResets?.arm(on: loop)
    }

    /// Called when a request is about to be sent from `localPort`. Within libcurl.
    func requestGoesOut(fromPort localPort: Int) {
        heldResets?.requestGoesOut(fromPort: localPort)
    }

    /// Closes the transfer's connection after it, unless others use it. At any time: libcurl checks when the transfer ends.
    package func closeConnection(after easy: EasyHandle) {
        _ = clibcurl_easy_set_long(easy.handle, CURLOPT_FORBID_REUSE, 1)
    }

    /// Breaks the HTTP/2 connection of a transfer whose server has been silent for `silence`, if the connection seems dead: nothing has
    /// arrived on it for at least half that time, and either no other transfer uses it or the other side's system is silent, too. libcurl
    /// would send later requests over it. Outside of libcurl.
    package func breakConnection(of easy: EasyHandle, silentFor silence: Duration) {
        guard let socket = easy.connectedSocket, let age = TCPSocket.timeSinceArrival(at: socket),
            age >= silence / 2, TCPSocket.isUnacknowledged(socket) || !running.hasTransfer(besides: easy, on: socket)
        else { return }
        TCPSocket.shutDown(socket)
    }

    /// Makes libcurl look again at the transfers that wait for the connection `opener` opened: newer versions share it only after its first
    /// response, and look again neither then nor when it turns out not to be shareable. Outside of libcurl.
    package func reviewWaiting(behind opener: EasyHandle) {
        loop.preconditionOnLoop()
        guard let handle = handle?.usable, transferCount > 1, opener.info.long(CURLINFO_NUM_CONNECTS) > 0,
            let probe = curl_easy_init()
        else { return }
        // libcurl looks whenever a transfer leaves.
        loop.calls.within {
            if curl_multi_add_handle(handle, probe) == CURLM_OK { curl_multi_remove_handle(handle, probe) }
        }
        curl_easy_cleanup(probe)
        scheduleSettling()
    }

    // MARK: - Called by the loop

    func socketBecameReady(_ event: ReadySocket) {
        guard !isClosed else { return }
        if let channel = channels[event.socket] { return channel.becameReady(event.readiness) }
        if sockets.endsStarved(on: event.socket) { return }
        var action: Int32 = 0
        if event.readiness & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { action |= CURL_CSELECT_IN }
        if event.readiness & EPOLLOUT.rawValue != 0 { action |= CURL_CSELECT_OUT }
        if event.readiness & EPOLLERR.rawValue != 0 { action |= CURL_CSELECT_ERR }
        act(on: event.socket, action)
        // Not after the handlers have settled: they could send requests over a broken connection.
        if silentBreaks != nil, unsettled.allSatisfy(\.speaksHTTP2) { recheck.lookTwice(at: event.socket) }
        if action == CURL_CSELECT_OUT { loop.noteWritable(event.socket, isFutile: unsettled.isEmpty) }
        // Otherwise the next socket's event would make libcurl continue this one's transfer, too.
        settleHandlers()
    }

    /// Whether libcurl is to run its timers as soon as possible.
    var hasDueTimers: Bool { timers.areDue }

    /// How often `runTimers` has had libcurl run its timers.
    var timerRuns: Int { timers.runs }

    /// Runs libcurl's own timers, such as work deferred to the next turn.
    func runTimers() {
        guard hasHandle else { return }
        timers.runs += 1
        act(on: CURL_SOCKET_BAD, 0)
    }

    /// Runs libcurl's timers until none is due. False if that never happens.
    func runDueTimers() -> Bool {
        for _ in 0..<16 {
            timers.areDue = false
            runTimers()
            settleHandlers()
            if !timers.areDue { return true }
        }
        return false
    }

    func act(on socket: Int32, _ action: Int32) {
        guard let handle = handle?.usable else { return }
        if action & CURL_CSELECT_OUT != 0 { stalledInput?.wrote(on: socket) }
        var stillRunning: Int32 = 0
        let code = loop.calls.within { curl_multi_socket_action(handle, socket, action, &stillRunning) }
        if code == CURLM_OUT_OF_MEMORY { ranOutOfMemory() }
        scheduleSettling()
        recheck.schedule()
        if socket != CURL_SOCKET_BAD { recheck.looked() }
    }

    /// The multi's part in `MissedSockets`.
    var sockets: SocketWatch { SocketWatch(multi: self) }

    /// The multi's part in `HTTP2StalledInput` and `SilentBreaks`.
    var recheck: HTTP2Recheck { HTTP2Recheck(multi: self) }

    /// https://curl.se/libcurl/c/curl_easy_pause.html
    @discardableResult
    func pause(_ easy: EasyHandle, _ directions: Int32) -> CURLcode {
        // When libcurl next runs its timers, it reads for a transfer that continues.
        recheck.suspectBreak(of: easy)
        return loop.calls.within { curl_easy_pause(easy.handle, directions) }
    }

    /// Makes libcurl look at this running transfer when it next runs its timers, though nothing has happened to it. Outside of libcurl.
    func wake(_ easy: EasyHandle) {
        pause(easy, CURLPAUSE_RECV)
        pause(easy, CURLPAUSE_CONT)
    }

    /// Whether libcurl may go on with the transfer.
    func isRunning(_ easy: EasyHandle) -> Bool { easy.multi === self && !easy.isPaused && !isBroken }

    /// Makes libcurl look at every transfer, whether or not anything has happened to it. Outside of libcurl.
    package func runAll() {
        loop.preconditionOnLoop()
        guard let handle = handle?.usable else { return }
        var stillRunning: Int32 = 0
        let code = loop.calls.within { clibcurl_multi_run_all(handle, &stillRunning) }
        if code == CURLM_OUT_OF_MEMORY { ranOutOfMemory() }
        scheduleSettling()
        if silentBreaks != nil { running.all.forEach(recheck.suspectBreak) }
        recheck.schedule()
    }

    /// Called when libcurl reports that it stopped in the middle of its work. Outside of libcurl.
    func ranOutOfMemory() {
        handle?.ranOutOfMemory()
        scheduleSettling()
    }

    /// Called by the loop outside of libcurl: lets handlers act on what they recorded, and finishes transfers that are over.
    func settle() {
        isScheduled.settling = false
        guard !isClosed else { return }
        settleHandlers()
        finishTransfers()
        if isBroken { endAll() }
        sockets.settle()
        if timers.areDue && !isClosed {
            timers.areDue = false
            runTimers()
        }
    }

    /// Called before libcurl is called again: a handler with enough data pauses its transfer before libcurl reads more.
    func settleHandlers() {
        guard !unsettled.isEmpty else { return }
        let settling = unsettled.take()
        for easy in settling {
            // It may have been cancelled since.
            if easy.multi === self { recheck.moved(easy) }
            easy.settle()
        }
        unsettled.recycle(settling)
        recheck.schedule()
    }

    func finishTransfers() {
        while let easy = continued.popLast() {
            if let result = easy.pausing?.takeResult() { finish(easy, result) }
        }
        var remaining: Int32 = 0
        while let pointer = handle?.pointer, let message = curl_multi_info_read(pointer, &remaining) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = EasyHandle.of(message.pointee.easy_handle) else {
                continue
            }
            let result = TransferResult(clibcurl_message_result(message), of: easy)
            // Now, not when the end is reported, which may be later.
            if !easy.opensChannel, let idle = IdleConnection(of: easy, after: result.code, on: loop) {
                loop.becameIdle(idle.socket, idle.traffic, after: ObjectIdentifier(easy))
            }
            if !easy.opensChannel { handle?.noConnections?.replaceConnection(of: easy) }
            end(easy, result)
        }
    }

    /// Called when the transfer is over; a paused one's handler hears of it once it is resumed.
    func end(_ easy: EasyHandle, _ result: TransferResult) {
        if easy.isPaused { easy.keep(result) } else { finish(easy, result) }
    }

    /// Makes libcurl look at this transfer soon, if it may, though nothing has happened to it. Outside of libcurl.
    func lookAgain(at easy: EasyHandle) {
        if isRunning(easy), !easy.hasResult { wake(easy) }
    }

    /// Ends all transfers, open channels and paused ones too, because libcurl ran out of memory. The next transfer gets a new handle.
    private func endAll() {
        let endings = running.all.map { ($0.handler, TransferFailure(.lackOfMemory, of: $0)) }
        while let easy = running.all.last { remove(easy) }
        closeHandle()
        for (handler, failure) in endings { handler?.transferFinished(failure) }
    }

    /// Whether libcurl has established a channel's connection, and has nothing more to do with it.
    private func isOpenChannel(_ easy: EasyHandle) -> Bool {
        guard easy.opensChannel, let socket = easy.socket else { return false }
        return channels[socket] === easy.handler
    }

    private func finish(_ easy: EasyHandle, _ result: TransferResult) {
        let failure = result.code == CURLE_OK ? nil : TransferFailure(result, of: easy)
        if failure?.isOnKeptConnection ?? easy.info.usesKeptConnection {
            easy.connections?.noteReuse()
        }
        let handler = easy.handler
        if failure == nil, easy.opensChannel, let channel = handler as? Channel,
            let socket = easy.info.activeSocket
        {
            easy.opened = loop.current(socket)
            channels[socket] = channel
            return channel.opened(socket)
        }
        if failure?.leavesHTTP2Broken == true { easy.connectedSocket.map(TCPSocket.shutDown) }
        remove(easy, result)
        // The connection's other transfers may have to look at it.
        recheck.schedule()
        // The handler may still query the handle.
        handler?.transferFinished(failure)
    }

    /// Reports, soon, the end of a transfer that ended while it was paused. Outside of libcurl.
    func finishSoon(_ easy: EasyHandle) {
        continued.append(easy)
        scheduleSettling()
    }

    // MARK: - Callbacks, within libcurl: record only

    /// `milliseconds` is -1 to cancel the timer and 0 for "as soon as libcurl returns".
    func timerChanged(_ milliseconds: Int) {
        guard hasHandle, !isClosed else { return }
        timers.areDue = milliseconds == 0
        if milliseconds > 0 {
            loop.schedule(deadline, at: loop.now + .milliseconds(milliseconds))
        } else {
            loop.cancel(deadline)
        }
        if timers.areDue { scheduleSettling() }
    }

    func scheduleSettling(of easy: EasyHandle) {
        unsettled.append(easy)
        scheduleSettling()
    }

    func scheduleSettling() {
        guard !isScheduled.settling else { return }
        isScheduled.settling = true
        loop.settleSoon(self)
    }
}
