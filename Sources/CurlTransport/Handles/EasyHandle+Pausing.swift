import CCurlNetworkingLibcurl

extension EasyHandle {
    /// How far a running transfer is paused.
    struct Pausing {
        /// libcurl's callbacks are to take and give nothing, and the transfer's end is kept until it is continued.
        var isPaused = false
        /// How often the multi had run libcurl's timers when libcurl was last told to continue: it looks at the socket with the
        /// next.
        var continuation: Int?
        /// How the transfer ended while it was paused.
        var result: CURLcode?
    }

    /// Pauses or continues the transfer, in both directions, on the same connection. Nothing is reported while it is paused. False
    /// where libcurl can't yet, because the transfer has no connection: ask again when the handler next hears of it. Outside of
    /// libcurl; continuing can deliver body bytes before it returns. https://curl.se/libcurl/c/curl_easy_pause.html
    package func setPaused(_ isPaused: Bool) -> Bool {
        // It is over, as far as libcurl knows.
        if pausing.result != nil {
            pausing.isPaused = isPaused
            if !isPaused { multi?.finishSoon(self) }
            return true
        }
        if isPaused && pausing.isPaused { return true }
        // libcurl forces a look at the socket after each continuation. Paused again before that, it would read all the same,
        // hold back what it read, and run out of room for heads and bodies of different kinds.
        if let continuation = pausing.continuation, continuation == multi?.timerRuns { multi?.runTimers() }
        pausing.continuation = isPaused ? nil : multi?.timerRuns
        pausing.isPaused = isPaused
        // Where `CurlQuirks.spinsWhilePaused`, libcurl is told to continue instead, and pauses when the callbacks say so.
        let pause = multi?.quirks.spinsWhilePaused == true ? CURLPAUSE_CONT : CURLPAUSE_ALL
        let code = curl_easy_pause(handle, isPaused ? pause : CURLPAUSE_CONT)
        if code != CURLE_OK { pausing.isPaused = false }
        multi?.needsSettling()
        return code == CURLE_OK
    }

    package var isPaused: Bool { pausing.isPaused }

    /// Keeps how the transfer ended for when it is continued. Outside of libcurl.
    func keep(_ result: CURLcode) {
        pausing.result = result
    }

    /// How it ended, if it isn't paused any more.
    func takeResult() -> CURLcode? {
        pausing.isPaused ? nil : pausing.result.take()
    }
}
