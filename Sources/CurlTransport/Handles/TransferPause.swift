import CCurlNetworkingLibcurl

/// Whether, and how, a running transfer is paused. Loop only.
final class TransferPause {
    /// Whether libcurl's callbacks supply nothing and accept only what `head` holds, and the transfer's result is held back until it is
    /// resumed.
    var isPaused = false
    /// The lines of the response's head that have arrived meanwhile; nil if libcurl is to keep them.
    var head: HeldHead?
    /// The multi's `timerRuns` when libcurl was last told to resume: libcurl looks at the socket in the next run.
    var continuation: Int?
    /// The result of a transfer that ended while it was paused.
    var result: TransferResult?

    init(head: HeldHead? = nil) {
        self.head = head
    }

    /// The directions in which libcurl is told to pause. With `CurlQuirks.spinsWhilePaused`, it is told to continue instead, and pauses
    /// when the callbacks return PAUSE.
    func directions(_ quirks: CurlQuirks?) -> Int32 {
        guard isPaused, quirks?.spinsWhilePaused != true else { return CURLPAUSE_CONT }
        // The lines that `head` holds still have to arrive.
        return head == nil ? CURLPAUSE_ALL : CURLPAUSE_SEND
    }

    /// The result held back, unless the transfer is still paused.
    func takeResult() -> TransferResult? { isPaused ? nil : result.take() }

    /// Called when libcurl can't pause or resume the transfer yet.
    func reset() {
        (isPaused, head, continuation, result) = (false, nil, nil, nil)
    }

    /// Called when a line of the response's head arrives.
    func hold(_ line: UnsafeRawBufferPointer) -> ReceiveVerdict { head?.append(line) ?? .pause }
}

/// The lines of heads that have arrived for a paused transfer on a connection that it may share. When libcurl reads for others there, it
/// gets these, too, and 7.88.1 has room for only three kinds of writes: the lines of an informational response and of another one make
/// four, and the transfer fails.
struct HeldHead {
    private var lines: [[UInt8]] = []
    private var count = 0

    /// In bytes: more than handlers accept, so that they report the error.
    static let maximumCount = 512 * 1024

    /// nil if no other transfer can make libcurl read for this one, or its head has arrived.
    init?(for easy: EasyHandle) {
        guard easy.sharing.isMultiplexed(easy.info.negotiatedProtocol), easy.info.long(CURLINFO_RESPONSE_CODE) < 200
        else { return nil }
    }

    mutating func append(_ line: UnsafeRawBufferPointer) -> ReceiveVerdict {
        count += line.count
        lines.append([UInt8](line))
        return count <= Self.maximumCount ? .accepted : .abort
    }

    /// Passes the lines on to the handler, which can end the transfer. Outside of libcurl.
    func deliver(to easy: EasyHandle) {
        guard let handler = easy.handler else { return }
        easy.markUnsettled()
        for line in lines {
            guard case .abort = line.withUnsafeBytes(handler.transferReceived(headerLine:)) else { continue }
            return easy.keep(TransferResult(code: CURLE_WRITE_ERROR))
        }
    }
}
