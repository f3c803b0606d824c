import CCurlNetworkingLibcurl

/// Works around `CurlQuirks.forgetsHTTP2Input`. Loop only.
///
/// An affected libcurl reads up to 32 KiB from a connection at once and distributes them to the streams. If a stream's receive buffer is
/// full, it stops until that stream has been read, but doesn't then continue by itself: the rest waits for the socket's next event, which
/// never comes if the server waits for us. The end of a response can get stuck this way, or data for other streams that follows a paused
/// stream's.
///
/// So before the loop sleeps, libcurl is made to look at the connections of all transfers that have received something since the last look.
///
/// libcurl also forgets a stream that it closes itself: an upload whose response is complete before its body is closed when libcurl sends
/// the body's end, and nothing makes it notice. So it is made to read for such uploads, one by one: a look at the socket counts for only
/// one of a connection's transfers.
///
/// Once it has read as many bytes as `Content-Length` announces, it stops reading for that stream, and misses window updates for the
/// request's body. So if the head arrives before the body has been sent, libcurl is told to ignore the length, and the handler checks it
/// instead.
///
/// When libcurl is told that a body of unknown length is over, or one whose request was answered with an error, it goes on with the
/// connection's input at once, even if some of the input still waits for another stream: then bytes of that stream's response are lost, or
/// replaced by another's. So it isn't told until all it has read is distributed, and then only in a run in which it reads nothing.
///
/// A transfer whose rate is limited doesn't read what arrived while it waited. So libcurl is made to read for it several times a second.
///
/// When it gives up a connection because of something the server sent, it forgets an upload there that has nothing to send. So it is made
/// to read for such uploads a moment after it has looked at a socket.
struct HTTP2StalledInput {
    private var transfers: [ObjectIdentifier: EasyHandle] = [:]
    private var suspects: [ObjectIdentifier: ConnectionGroup] = [:]
    /// Transfers whose end of body hasn't been passed to libcurl yet.
    private var endings: [EasyHandle] = []
    private var limitedCount = 0
    /// Uploads that had nothing to send when libcurl last asked.
    private var starved: [ObjectIdentifier: EasyHandle] = [:]
    private var readsOnTime = false
    /// When the rate-limited transfers and the starved uploads read next. Not libcurl's timer, which other transfers move.
    let timedReads: Deadline

    /// Rate-limited transfers read at least this often.
    static let intervalOfReads = Duration.milliseconds(100)

    init(timedReads: Deadline) {
        self.timedReads = timedReads
    }

    /// Whether there is nothing to look at.
    var isIdle: Bool { transfers.isEmpty && suspects.isEmpty && endings.isEmpty && starved.isEmpty }

    /// Called when the transfer has received or sent something: once its response's head has arrived, it is known whether it uses HTTP/2.
    mutating func moved(_ easy: EasyHandle) {
        // The version alone could be that of a proxy's tunnel.
        guard easy.http2Input.isMultiplexed == nil, easy.info.long(CURLINFO_RESPONSE_CODE) != 0 else { return }
        let isMultiplexed = easy.info.speaksHTTP2
        easy.http2Input.isMultiplexed = isMultiplexed
        guard isMultiplexed else { return }
        transfers[ObjectIdentifier(easy)] = easy
        if easy.http2Input.isLimited { limitedCount += 1 }
    }

    /// Called with each line of a response's head, the first of which arrives before libcurl reads the fields. Within libcurl.
    static func headLineCame(_ line: UnsafeRawBufferPointer, for easy: EasyHandle) {
        guard line.starts(with: anyStatus) else { return }
        let isMultiplexed = line.starts(with: multiplexedStatus)
        let ignoresLength = isMultiplexed && (easy.http2Input.ignoresLength || !hasSentBody(easy))
        guard ignoresLength != easy.http2Input.ignoresLength else { return }
        easy.http2Input.ignoresLength = ignoresLength
        _ = clibcurl_easy_set_long(easy.handle, CURLOPT_IGNORE_CONTENT_LENGTH, ignoresLength ? 1 : 0)
        // After an error, libcurl would end the body by itself while it distributes input.
        _ = clibcurl_easy_set_long(easy.handle, CURLOPT_KEEP_SENDING_ON_ERROR, ignoresLength ? 1 : 0)
    }

    private static let multiplexedStatus = Array("HTTP/2 ".utf8)
    private static let anyStatus = Array("HTTP/".utf8)

    /// Called when a request is about to be sent. If it is sent again, its former connection may be lost. Within libcurl.
    ///
    /// - Returns: Whether there is something to look at now.
    mutating func requestGoesOut(_ easy: EasyHandle) -> Bool {
        defer { easy.http2Input.hasBegunRequest = true }
        guard easy.http2Input.hasBegunRequest else { return false }
        addSuspect(easy)
        return true
    }

    /// Called when the transfer has left the multi; `result` is nil if it was cancelled. Even if it was successful, the connection may have
    /// ended with it, or been given up because of what followed.
    ///
    /// - Parameter hasOthers: Whether there are other transfers, which may share its connection.
    mutating func left(_ easy: EasyHandle, _ result: TransferResult?, hasOthers: Bool) {
        endings.removeAll { $0 === easy }
        starved[ObjectIdentifier(easy)] = nil
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

    /// The ways in which a transfer without a response can end only on an HTTP/2 connection. If TLS has ended there, the socket may have no
    /// further event that would tell the connection's other transfers.
    private static let lossesOfHTTP2 = [CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING]

    private mutating func addSuspect(_ easy: EasyHandle) {
        if let group = easy.connections { suspects[ObjectIdentifier(group)] = group }
    }

    var hasLimited: Bool { limitedCount > 0 }

    var hasStarved: Bool { !starved.isEmpty }

    /// Called when the upload has nothing to send at the moment, or may send nothing. Within libcurl.
    mutating func paused(_ easy: EasyHandle) {
        if easy.http2Input.isUpload { starved[ObjectIdentifier(easy)] = easy }
    }

    /// Called when it is time for the rate-limited transfers and the starved uploads to read.
    mutating func readOnTime() {
        readsOnTime = true
    }

    /// Those of them that libcurl is to read for.
    mutating func takeTimed() -> [EasyHandle] {
        guard readsOnTime else { return [] }
        readsOnTime = false
        // The others come back when libcurl asks them.
        starved = starved.filter { $0.value.handler?.isStarved == true }
        return transfers.values.filter { $0.http2Input.isLimited && !$0.isPaused } + starved.values
    }

    /// Called when the handler has nothing more to send. Returns whether libcurl has to wait before it is told. Within libcurl.
    mutating func delaysEnd(of easy: EasyHandle) -> Bool {
        // libcurl has yet to send some of the bytes it was given, and only wants to know whether any can be added: it asks again.
        guard easy.info.offset(CURLINFO_SIZE_UPLOAD_T) >= easy.http2Input.givenBytes else { return false }
        let mayBeTold: Bool
        switch easy.http2Input.bodyEnd {
        case .told: return false
        case .waiting: return true
        // libcurl reads before it writes, and the input may wait for another stream.
        case .allowed(let mark): mayBeTold = mark.isCurrent
        case .notReached: mayBeTold = !easy.sharing.isMultiplexed(easy.info.negotiatedProtocol)
        }
        easy.http2Input.bodyEnd = mayBeTold ? .told : .waiting
        if !mayBeTold { endings.append(easy) }
        return !mayBeTold
    }

    /// The transfers whose end of body may be passed on now, if nothing has arrived since.
    mutating func waitingEnds() -> [EasyHandle] {
        // Other transfers have begun to send the body again.
        endings.removeAll { easy in if case .waiting = easy.http2Input.bodyEnd { false } else { true } }
        return endings
    }

    /// Called when libcurl is about to write for the transfer: it may then be told of the body's end if it reads nothing before it asks.
    /// False if something has arrived meanwhile.
    mutating func allowEnd(of easy: EasyHandle) -> Bool {
        noteGrowth()
        guard suspects.isEmpty, case .waiting = easy.http2Input.bodyEnd, let mark = ReadMark(easy) else { return false }
        easy.http2Input.bodyEnd = .allowed(mark)
        endings.removeAll { $0 === easy }
        return true
    }

    private mutating func noteGrowth() {
        for easy in transfers.values where easy.http2Input.hasGrown(to: easy.info.bytesReceived) { addSuspect(easy) }
    }

    /// The sockets that libcurl is to look at now.
    mutating func takeSockets() -> [Int32] {
        noteGrowth()
        guard !suspects.isEmpty else { return [] }
        defer { suspects.removeAll(keepingCapacity: true) }
        return suspects.values.flatMap(\.sockets)
    }

    /// Called when libcurl has been told that it can write: the end of a body that was still waiting may have been sent.
    mutating func wrote(on socket: Int32) {
        // Asking for the socket costs a walk through libcurl's connections.
        for easy in transfers.values where easy.http2Input.mayBeReadForAgain && easy.info.activeSocket == socket {
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
        guard easy.traits.sendsBody else { return false }
        if case .told = easy.http2Input.bodyEnd { return true }
        let length = easy.info.offset(CURLINFO_CONTENT_LENGTH_UPLOAD_T)
        return length >= 0 && easy.info.offset(CURLINFO_SIZE_UPLOAD_T) >= length
    }
}

/// How much has been read from a transfer's socket.
struct ReadMark {
    /// The socket, and how many bytes. nil where the system doesn't say, as for sockets other than TCP.
    private let place: (socket: Int32, count: Int64)?

    /// nil if bytes arrive at this moment.
    init?(_ easy: EasyHandle) {
        guard let socket = easy.connectedSocket, let count = CallWatch.bytesRead(from: socket) else {
            place = nil
            return
        }
        guard count.lowerBound == count.upperBound else { return nil }
        place = (socket, count.lowerBound)
    }

    /// Whether it is certain that nothing has been read since. True where the system doesn't say.
    var isCurrent: Bool {
        guard let place, let now = CallWatch.bytesRead(from: place.socket) else { return true }
        return now.upperBound <= place.count
    }
}
