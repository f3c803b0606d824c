import CurlTransport

/// Whether a finished transfer has brought the response, whatever libcurl reports.
enum CompletionPolicy {
    struct Circumstances {
        /// Whether the response ends with its head, where libcurl would wait for a body.
        var endsWithHead = false
        /// Whether the response is the task's own.
        var isWanted = true
        /// How much of its body has arrived, in bytes before decoding.
        var arrivedCount: Int64 = 0
        /// Whether libcurl was kept from looking at the response's length.
        var ignoresLength = false
        /// Whether TLS hasn't announced the end of the connection, which alone delimits the body.
        var isTruncated = false
        var requestBody = RequestBody.none
        var quirks = CurlQuirks.current
    }

    enum RequestBody {
        case none
        case unsent
        /// libcurl has taken its end.
        case sent
    }

    /// The failure that the task ends with; nil if it has its response.
    ///
    /// - Parameter failure: What libcurl reports.
    static func failure(
        _ failure: TransferFailure?,
        after head: ResponseHead?,
        _ circumstances: Circumstances
    ) -> TransferFailure? {
        guard let head else { return failure ?? TransferFailure.noHead }
        // If an unwanted body is cut short, by us or by the server, the task still succeeds.
        guard circumstances.isWanted, !circumstances.endsWithHead else { return nil }
        guard let failure else {
            if circumstances.isTruncated { return .truncatedTLS }
            let isCutShort =
                circumstances.ignoresLength && length(after: head).map { circumstances.arrivedCount < $0 } ?? false
            return isCutShort ? .cutShort : nil
        }
        // libcurl takes 101 for an interim response, and misses the final one when the connection ends, or when HEAD asks for no more.
        if failure.code == .gotNothing { return nil }
        // libcurl was kept from resending an answered request, for which it had dropped the body of one of these responses.
        if failure.code == .abortedByCallback {
            return [407, 417].contains(head.status) ? nil : .brokenOff
        }
        // libcurl 8.21 rewinds the body for that before it has passed on all of the head, and gives up if it can't.
        if failure.code == .sendFailRewind, head.status == 417 { return nil }
        let endsUpload = failure.isUnexplainedSendError && circumstances.requestBody == .sent
        if circumstances.quirks.failsAnsweredUploads, endsUpload, isEndedByHTTP2(head) { return nil }
        // A server that refuses an upload needn't read it. libcurl found the stream closed, and may have lost a body: the status counts.
        let mayHaveLostBody = circumstances.requestBody != .none && ReplayPolicy.isLossOfResponse(failure)
        if mayHaveLostBody, head.status >= 400, isEndedByHTTP2(head) { return nil }
        // The server has responded in full, and closed the connection (or, with HTTP/2, the stream) before it had read the whole body.
        let isCutOff = [.sendError, .http2Stream, .partialFile].contains(failure.code)
        return isCutOff && isComplete(circumstances.arrivedCount, after: head) ? nil : failure
    }

    /// Whether only HTTP/2's framing says where the body after `head` ends.
    static func isEndedByHTTP2(_ head: ResponseHead) -> Bool {
        head.isOfHTTP2 && length(after: head) == nil
    }

    /// Whether the body after `head` ends with the connection (RFC 9112 §6.3).
    static func isEndedByConnection(_ head: ResponseHead) -> Bool {
        head.isOfHTTP1 && length(after: head) == nil && !head.isChunked
    }

    /// Whether so many bytes are the whole body after `head`; false if the head doesn't give its length.
    static func isComplete(_ arrivedCount: Int64, after head: ResponseHead) -> Bool {
        length(after: head) == arrivedCount
    }

    /// The length of the body on the wire; nil if the head doesn't say.
    private static func length(after head: ResponseHead) -> Int64? {
        // They have no body, whatever their fields say (RFC 9112 §6.3).
        [204, 304].contains(head.status) ? 0 : head.contentLength
    }
}

extension TransferFailure {
    /// The failure with which we ended the transfer, as a send error: the server closed the connection while there was nothing to send.
    var ofUnsentBody: TransferFailure {
        var failure = self
        failure.code = .sendError
        failure.text = "The server closed the connection before it had the request's whole body."
        return failure
    }

    /// The same if libcurl lost the server's response, or may have: see `ReplayPolicy.isLossOfWholeResponse`.
    var ofLostResponse: TransferFailure {
        var failure = self
        failure.text =
            ReplayPolicy.mayBeLossOfResponse(self)
            ? "\(text). If the server has answered, libcurl lost the answer, as it may over HTTP/2."
            : "The server answered before it had the request's whole body, and libcurl lost the answer, as it may over HTTP/2."
        return failure
    }

    /// A success to libcurl: the server closed the connection within the head.
    static let noHead = TransferFailure(
        code: .gotNothing,
        text: "The server closed the connection before the response's head was complete.",
        phase: .receiving
    )

    /// An HTTP/2 server has ended the stream or the connection in the middle of the response, or an FTP server in the middle of its file.
    static let cutShort = TransferFailure(
        code: .partialFile,
        text: "The response ended before it had the length that the server has announced.",
        phase: .receiving
    )

    /// An HTTP/2 server has reset the stream within its response, with the error HTTP_1_1_REQUIRED (RFC 9113 §7).
    static let brokenOff = TransferFailure(
        code: .http2Stream,
        text: "The server broke off its response and demanded HTTP/1.1.",
        phase: .receiving
    )
}
