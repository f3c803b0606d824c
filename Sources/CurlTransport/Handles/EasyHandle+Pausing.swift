import CCurlNetworkingLibcurl

extension EasyHandle {
    /// Pauses or resumes the transfer, in both directions, on the same connection. Nothing is reported while it is paused. False if libcurl
    /// can't yet, because the transfer has no connection: ask again when the handler is next called. Outside of libcurl; resuming can
    /// deliver lines of the head and body bytes before it returns. https://curl.se/libcurl/c/curl_easy_pause.html
    package func setPaused(_ isPaused: Bool) -> Bool {
        let pausing = pausing ?? TransferPause()
        self.pausing = pausing
        if !isPaused { pausing.head.take()?.deliver(to: self) }
        // As far as libcurl knows, the transfer is already over.
        if pausing.result != nil {
            pausing.isPaused = isPaused
            if !isPaused { multi?.finishSoon(self) }
            return true
        }
        if isPaused && pausing.isPaused { return true }
        if multi?.isBroken == true { return false }
        // libcurl forces a look at the socket after each resumption. If it were paused again before that, it would read all the same,
        // buffer the bytes, and run out of buffers for alternating heads and bodies.
        if let continuation = pausing.continuation, continuation == multi?.timerRuns { multi?.runTimers() }
        pausing.continuation = isPaused ? nil : multi?.timerRuns
        pausing.isPaused = isPaused
        if isPaused { pausing.head = HeldHead(for: self) }
        let directions = pausing.directions(multi?.quirks)
        let code = multi?.pause(self, directions) ?? CURLE_BAD_FUNCTION_ARGUMENT
        multi?.scheduleSettling()
        switch code {
        case CURLE_OK:
            return true
        // Without a connection, libcurl says so each time it is asked.
        case CURLE_BAD_FUNCTION_ARGUMENT where multi?.pause(self, directions) != CURLE_OK:
            pausing.reset()
            return false
        default:
            // A callback has refused bytes that libcurl had held back, or libcurl has: a field with a NUL, before version 8. libcurl
            // reports that only here, and would wait for more.
            keep(TransferResult(code: code))
            if code == CURLE_OUT_OF_MEMORY { multi?.ranOutOfMemory() }
            if !isPaused { multi?.finishSoon(self) }
            return true
        }
    }

    package var isPaused: Bool { pausing?.isPaused == true }
    /// Whether a result is held back.
    var hasResult: Bool { pausing?.result != nil }

    /// Holds back the transfer's result until the transfer is resumed. Outside of libcurl.
    func keep(_ result: TransferResult) {
        pausing?.result = result
        pausing?.result?.wasKept = true
    }
}
