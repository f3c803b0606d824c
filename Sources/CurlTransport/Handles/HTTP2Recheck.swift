import CCurlNetworkingLibcurl

/// What a multi does for `HTTP2StalledInput` and `SilentBreaks`, which have the state. Does nothing with a libcurl that doesn't need it. Loop
/// only.
struct HTTP2Recheck {
    let multi: Multi

    /// Has the loop call `run` before it sleeps, if there is anything to look at.
    func schedule() {
        guard !multi.isScheduled.recheck, multi.stalledInput?.isIdle == false || multi.silentBreaks?.isIdle == false
        else { return }
        multi.isScheduled.recheck = true
        multi.loop.recheckSoon(multi)
    }

    // MARK: - Before the loop sleeps, outside of libcurl

    /// Called by the loop. True if that may have produced something to do.
    func run() -> Bool {
        multi.isScheduled.recheck = false
        guard !multi.isClosed else { return false }
        let hasLooked = multi.silentBreaks != nil && lookForBreaks()
        guard multi.stalledInput != nil else { return hasLooked }
        defer { if multi.stalledInput?.hasLimited == true { armTimedReads() } }
        return runConnections() || hasLooked
    }

    private func lookForBreaks() -> Bool {
        let sockets = multi.silentBreaks?.take(in: multi.loop, keepsAll: multi.hasDueTimers) ?? []
        for socket in sockets {
            lookTwice(at: socket)
            multi.settleHandlers()
        }
        schedule()
        return !sockets.isEmpty
    }

    private func runConnections() -> Bool {
        let sockets = multi.stalledInput?.takeSockets() ?? []
        for socket in sockets {
            multi.act(on: socket, CURL_CSELECT_IN)
            multi.settleHandlers()
        }
        let uploads = multi.stalledInput?.takeUploads() ?? []
        // libcurl reads before it writes, so it notices the end that it sends in one run in the next; and a socket that was full in the
        // first may have room in the second.
        for easy in uploads { read(for: easy, times: 3) }
        let timed = multi.stalledInput?.takeTimed() ?? []
        for easy in timed { read(for: easy, times: 1) }
        if !sockets.isEmpty || !uploads.isEmpty || !timed.isEmpty { return true }
        // Nothing was left in libcurl's buffers.
        let endings = multi.stalledInput?.waitingEnds() ?? []
        return endings.reduce(false) { endBody(of: $1) || $0 }
    }

    /// Makes libcurl read for this running transfer, though nothing indicates that anything has arrived.
    private func read(for easy: EasyHandle, times: Int) {
        for _ in 0..<times {
            // Timers that are already due would use up that chance to read.
            runTimers()
            guard isRunning(easy) else { return }
            multi.wake(easy)
            runTimers()
        }
    }

    /// Makes libcurl write for this transfer, and then tells it that the body is over, unless it has read something first. False if it
    /// didn't ask because its socket is full.
    private func endBody(of easy: EasyHandle) -> Bool {
        guard isRunning(easy) else { return false }
        // Other transfers that read meanwhile could leave something behind.
        guard multi.runDueTimers(), isRunning(easy), multi.stalledInput?.allowEnd(of: easy) == true else { return true }
        multi.pause(easy, CURLPAUSE_RECV)
        multi.runTimers()
        let wasAsked = easy.http2Input.endAllowance()
        multi.settleHandlers()
        guard isRunning(easy) else { return true }
        multi.pause(easy, CURLPAUSE_CONT)
        runTimers()
        return wasAsked
    }

    private func isRunning(_ easy: EasyHandle) -> Bool { multi.isRunning(easy) }

    private func runTimers() {
        multi.runTimers()
        multi.settleHandlers()
    }

    /// Has libcurl read for the rate-limited transfers and the starved uploads before the loop sleeps.
    func readOnTime() {
        multi.stalledInput?.readOnTime()
        schedule()
    }

    private func armTimedReads() {
        guard let reads = multi.stalledInput?.timedReads, !reads.isScheduled else { return }
        multi.loop.schedule(reads, at: multi.loop.now + HTTP2StalledInput.intervalOfReads)
    }

    /// Called when libcurl has looked at a socket: it may have given up a starved upload's connection. Outside of libcurl.
    func looked() {
        if multi.stalledInput?.hasStarved == true { armTimedReads() }
    }

    /// Makes libcurl look at a socket that may be an HTTP/2 connection's, and from which it may have read.
    func lookTwice(at socket: Int32) {
        multi.silentBreaks?.looks(at: multi.loop.current(socket))
        for _ in 0..<2 { multi.act(on: socket, CURL_CSELECT_IN) }
    }

    /// Called when the transfer has received or sent something. Outside of libcurl.
    func moved(_ easy: EasyHandle) {
        multi.stalledInput?.moved(easy)
        suspectBreak(of: easy)
    }

    /// Called when libcurl may have read for the transfer, or is going to.
    func suspectBreak(of easy: EasyHandle) {
        guard multi.silentBreaks != nil, easy.speaksHTTP2, let group = easy.connections else { return }
        multi.silentBreaks?.suspect(group.sockets)
    }

    // MARK: - Callbacks, within libcurl

    /// Called when `easy` has a connection, and libcurl begins to send its request, perhaps again.
    func requestGoesOut(_ easy: EasyHandle) {
        suspectBreak(of: easy)
        if multi.stalledInput?.requestGoesOut(easy) == true { schedule() }
    }

    /// Called for each line of a response's head if the transfer sends a body.
    func headLineCame(_ line: UnsafeRawBufferPointer, for easy: EasyHandle) {
        if multi.stalledInput != nil { HTTP2StalledInput.headLineCame(line, for: easy) }
    }

    /// Called when the handler sends nothing of the request's body at the moment.
    func bodyPaused(_ easy: EasyHandle) {
        multi.stalledInput?.paused(easy)
    }

    /// Called when the handler has nothing more to send. Whether libcurl may be told now; otherwise it is told to wait.
    func mayEndBody(of easy: EasyHandle) -> Bool {
        guard multi.stalledInput?.delaysEnd(of: easy) == true else { return true }
        schedule()
        return false
    }
}
