import CCurlNetworkingLibcurl

/// What a multi does for `HTTP2StalledInput` before its loop sleeps. Loop only, outside of libcurl.
struct HTTP2Recheck {
    let multi: Multi

    /// True if that may have produced something to do.
    func run() -> Bool {
        let sockets = multi.stalledInput?.takeSockets() ?? []
        for socket in sockets {
            multi.act(on: socket, CURL_CSELECT_IN)
            multi.settleHandlers()
        }
        let uploads = multi.stalledInput?.takeUploads() ?? []
        // libcurl reads before it writes, so it notices the end that it sends in one run in the next; and a socket that was full in the
        // first may have room in the second.
        for easy in uploads { read(for: easy, times: 3) }
        let limited = multi.stalledInput?.takeLimited() ?? []
        for easy in limited { read(for: easy, times: 1) }
        if !sockets.isEmpty || !uploads.isEmpty || !limited.isEmpty { return true }
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
            multi.pause(easy, CURLPAUSE_RECV)
            multi.pause(easy, CURLPAUSE_CONT)
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

    private func isRunning(_ easy: EasyHandle) -> Bool { easy.multi === multi && !easy.isPaused && !multi.isBroken }

    private func runTimers() {
        multi.runTimers()
        multi.settleHandlers()
    }
}
