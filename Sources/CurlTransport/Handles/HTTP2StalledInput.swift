import CCurlNetworkingLibcurl

/// Works around `CurlQuirks.forgetsHTTP2Input`. Loop only.
///
/// An affected libcurl reads up to 32 KiB of a connection at once and distributes them to the streams. If a stream's receive buffer is
/// full, it stops until that stream has been read, but then doesn't continue by itself: the rest waits for the socket's next event, which
/// doesn't come if the server is waiting for us. The end of a response can get stuck this way, or data for other streams that follows a
/// paused stream's.
///
/// So before the loop sleeps, libcurl is made to look at the connections of all transfers that have received something since the last such
/// look.
///
/// It also forgets a stream that it closes itself: an upload whose response is complete before its body is closed when libcurl sends the
/// body's end, and nothing makes it read that. So it is made to read for such uploads, one by one: a look at the socket counts for one of a
/// connection's transfers only.
///
/// And once it has read as much of a response as its `Content-Length` says, it reads no more for that stream, not even how much more of the
/// request's body the server takes. HTTP/2 frames say where a response ends, so libcurl is kept from looking at the length where the head comes
/// before the body has been sent. The handler has to look at it.
///
/// Nor does a transfer whose rate is limited read what has arrived meanwhile when its time has come, which libcurl may notice in any call. So it is made
/// to read several times a second.
struct HTTP2StalledInput {
    private var transfers: [ObjectIdentifier: EasyHandle] = [:]
    private var suspects: [ObjectIdentifier: ConnectionGroup] = [:]
    /// How many of the transfers are limited in their rate.
    private var limitedCount = 0
    private var readsForLimited = false
    /// When those read next. Not libcurl's timer, which other transfers move.
    let limitedReads: Deadline

    /// How often those that are limited read, at least.
    static let intervalOfReads = Duration.milliseconds(100)

    init(limitedReads: Deadline) {
        self.limitedReads = limitedReads
    }

    /// There is nothing to look at.
    var isIdle: Bool { transfers.isEmpty && suspects.isEmpty }

    /// Called when the transfer has received or sent something: from its response's head on, it is known whether it uses HTTP/2.
    mutating func moved(_ easy: EasyHandle) {
        // The version alone could be that of a proxy's tunnel.
        guard easy.http2Input.isMultiplexed == nil, easy.longInfo(CURLINFO_RESPONSE_CODE) != 0 else { return }
        let isMultiplexed = easy.longInfo(CURLINFO_HTTP_VERSION) == CURL_HTTP_VERSION_2_0
        easy.http2Input.isMultiplexed = isMultiplexed
        guard isMultiplexed else { return }
        transfers[ObjectIdentifier(easy)] = easy
        if easy.http2Input.isLimited { limitedCount += 1 }
    }

    /// Called with each line of a response's head, whose first comes before libcurl reads the fields. Within libcurl.
    static func headLineCame(_ line: UnsafeRawBufferPointer, for easy: EasyHandle) {
        guard line.starts(with: anyStatus) else { return }
        let isMultiplexed = line.starts(with: multiplexedStatus)
        let ignoresLength = isMultiplexed && (easy.http2Input.ignoresLength || !hasSentBody(easy))
        guard ignoresLength != easy.http2Input.ignoresLength else { return }
        easy.http2Input.ignoresLength = ignoresLength
        _ = clibcurl_easy_set_long(easy.handle, CURLOPT_IGNORE_CONTENT_LENGTH, ignoresLength ? 1 : 0)
    }

    private static let multiplexedStatus = Array("HTTP/2 ".utf8)
    private static let anyStatus = Array("HTTP/".utf8)

    /// Called when a request is about to go out. If it goes out again, its former connection may be lost. Within libcurl.
    ///
    /// - Returns: Whether there is something to look at now.
    mutating func requestGoesOut(_ easy: EasyHandle) -> Bool {
        defer { easy.http2Input.hasBegunRequest = true }
        guard easy.http2Input.hasBegunRequest else { return false }
        addSuspect(easy)
        return true
    }

    /// Called when the transfer has left the multi; `result` is nil if it was cancelled. Even if it was successful, the connection may have ended
    /// with it, or been given up for what followed.
    ///
    /// - Parameter hasOthers: Whether there are other transfers, which may share its connection.
    mutating func left(_ easy: EasyHandle, _ result: TransferResult?, hasOthers: Bool) {
        switch easy.http2Input.isMultiplexed {
        case true?:
            transfers[ObjectIdentifier(easy)] = nil
            if easy.http2Input.isLimited { limitedCount -= 1 }
            if result?.code != CURLE_OK || hasOthers { addSuspect(easy) }
        case nil where result.map { Self.lossesOfHTTP2.contains($0.code) } ?? false:
            addSuspect(easy)
        case nil, false?:
            break
        }
    }

    /// How a transfer without a response can end only on an HTTP/2 connection. If TLS has ended there, the socket may have no further
    /// event by which the connection's other transfers would learn of that.
    private static let lossesOfHTTP2 = [CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING]

    private mutating func addSuspect(_ easy: EasyHandle) {
        if let group = easy.connections { suspects[ObjectIdentifier(group)] = group }
    }

    var hasLimited: Bool { limitedCount > 0 }

    /// It is time for those that are limited to read.
    mutating func readForLimited() {
        readsForLimited = hasLimited
    }

    /// The transfers that libcurl is to read for since their rate is limited.
    mutating func takeLimited() -> [EasyHandle] {
        guard readsForLimited else { return [] }
        readsForLimited = false
        return transfers.values.filter { $0.http2Input.isLimited && !$0.isPaused }
    }

    /// The sockets that libcurl is to look at now.
    mutating func takeSockets() -> [Int32] {
        for easy in transfers.values where easy.http2Input.hasGrown(to: easy.bytesReceived) { addSuspect(easy) }
        guard !suspects.isEmpty else { return [] }
        defer { suspects.removeAll(keepingCapacity: true) }
        return suspects.values.flatMap(\.sockets)
    }

    /// Called when libcurl has been told that it can write: the end of a body that was still waiting for that may have gone.
    mutating func wrote(on socket: Int32) {
        // Asking for the socket costs a walk through libcurl's connections.
        for easy in transfers.values where easy.http2Input.mayBeReadForAgain && easy.activeSocket == socket {
            easy.http2Input.wrote()
        }
    }

    /// The uploads that libcurl is to read for at this point.
    mutating func takeUploads() -> [EasyHandle] {
        transfers.values.filter { easy in
            guard !easy.http2Input.wasReadFor, Self.hasSentBody(easy), !easy.isPaused else { return false }
            easy.http2Input.noteRead()
            return true
        }
    }

    /// Whether libcurl has put all of the request's body into frames. False without a body.
    private static func hasSentBody(_ easy: EasyHandle) -> Bool {
        guard easy.sendsBody else { return false }
        let length = easy.info(CURLINFO_CONTENT_LENGTH_UPLOAD_T)
        return length < 0 ? easy.http2Input.bodyHasEnded : easy.info(CURLINFO_SIZE_UPLOAD_T) >= length
    }
}

struct HTTP2InputState {
    /// nil before the response's head.
    var isMultiplexed: Bool?
    /// libcurl has begun to send the request.
    var hasBegunRequest = false
    /// libcurl doesn't look at the length that the response's head gives.
    var ignoresLength = false
    /// It receives or sends no more than so many bytes a second.
    var isLimited = false
    /// libcurl has been made to read for the upload since it could last have sent the body's end.
    private(set) var wasReadFor = false
    /// How often it has been since the handler last said that nothing follows.
    private var reads = 0
    /// The handler has said that nothing follows.
    private(set) var bodyHasEnded = false
    private var bytesReceived: Int64 = 0

    /// When libcurl has put all of the body into frames, at most the last one, of up to 16 KiB, still waits for the socket, which takes that
    /// within a few events; but the connection's other uploads may write for hours.
    static let mostReads = 4

    /// libcurl is to be made to read for the upload once more when it has written.
    var mayBeReadForAgain: Bool { wasReadFor && reads < Self.mostReads }

    /// libcurl is made to read for the upload now.
    mutating func noteRead() {
        wasReadFor = true
        reads += 1
    }

    /// libcurl has been told that it can write.
    mutating func wrote() {
        wasReadFor = false
    }

    /// The handler has said that nothing follows. libcurl asks again in each run in which it tries to send what of the body is still waiting,
    /// so this may be the one in which the end goes out.
    mutating func bodyEnded() {
        (wasReadFor, reads) = (false, 0)
        bodyHasEnded = true
    }

    /// The body is sent again from an earlier point.
    mutating func rewound() {
        (wasReadFor, reads) = (false, 0)
        bodyHasEnded = false
    }

    mutating func hasGrown(to bytesReceived: Int64) -> Bool {
        defer { self.bytesReceived = bytesReceived }
        return bytesReceived != self.bytesReceived
    }
}
