import Curl
import Foundation

// What an exchange tells its task. Everything on the loop; the methods that libcurl's callbacks reach only record.

extension TaskRunner: ExchangeOwner {
    func exchange(_ exchange: Exchange, received head: ResponseHead) throws(URLError) -> Exchange.BodyRoute {
        noteTransportSecurity(of: head, to: exchange.request)
        storeCookies(of: head, to: exchange.request)
        invalidateCache(head, to: exchange.request)
        if loading.authentication != nil || AuthenticationParty(status: head.status) != nil,
            let route = try challenged(by: head, of: exchange)
        {
            return route
        }
        if selectsStoredResponse(head) { return .discard }
        switch RedirectPolicy.decision(for: head, to: exchange.request, count: loading.redirectCount) {
        case .follow(let next):
            dropSuperseded(by: head, to: exchange.request)
            return try redirect(to: next, by: head, of: exchange)
        case .fail(let error):
            throw error
        case .deliver:
            return try deliver(head, of: exchange)
        }
    }

    /// The response is the task's own.
    func deliver(_ head: ResponseHead, of exchange: Exchange) throws(URLError) -> Exchange.BodyRoute {
        if let resumption = loading.resumption { return try resume(resumption, with: head, to: exchange.request) }
        try accept(head, to: exchange.request)
        return .deliver
    }

    func exchange(_ exchange: Exchange, receivedInformational head: ResponseHead) {
        guard shared.withLock({ $0.isWatched(in: session) }) else { return }
        post(.task(.informational(head, to: exchange.request)))
    }

    /// The body that follows is the task's own.
    func accept(
        _ head: ResponseHead,
        to request: URLRequest,
        offset: Int64 = 0,
        length: Int64? = nil
    ) throws(URLError) {
        loading.head = head
        let expected = length ?? Self.expectedLength(of: head, to: request)
        try accept(shownResponse(head, to: request), received: offset, expected: expected)
        beginParts(of: head)
        // A stored response would have no parts.
        if loading.parts == nil { beginCaching(head, to: request, expected: expected) }
    }

    /// Makes room for the body, and shows the response to whom it concerns.
    func accept(_ response: URLResponse, received: Int64, expected: Int64) throws(URLError) {
        switch loading.destination {
        case .memory: loading.reservation = Int(min(max(0, expected), Self.largestReservation))
        case .file: if loading.file == nil { loading.file = try DownloadFile(in: session.settings.temporaryDirectory) }
        case .stream: break
        }
        publish(response, received: received, expected: expected)
    }

    /// More is not reserved on a server's word alone.
    private static let largestReservation: Int64 = 64 << 20

    private static func expectedLength(of head: ResponseHead, to request: URLRequest) -> Int64 {
        if request.httpMethod == "HEAD" || head.status == 204 || head.status == 304 { return 0 }
        return head.isContentCoded
            ? NSURLSessionTransferSizeUnknown : head.contentLength ?? NSURLSessionTransferSizeUnknown
    }

    /// The response as the task shows it: FTP has no status and no fields.
    private func shownResponse(_ head: ResponseHead, to request: URLRequest) throws(URLError) -> URLResponse {
        guard head.version == FTPReplies.version, let url = request.url else {
            return try httpResponse(head, to: request)
        }
        return URLResponse(
            url: url,
            mimeType: url.path.hasSuffix("/") ? "text/plain" : MIMEType.guess(forPath: url.path),
            expectedContentLength: Int(head.contentLength ?? NSURLSessionTransferSizeUnknown),
            textEncodingName: nil
        )
    }

    /// `head` as the delegate or owner sees it.
    func httpResponse(_ head: ResponseHead, to request: URLRequest) throws(URLError) -> HTTPURLResponse {
        guard let url = request.url, let response = lane.responses.response(for: head, at: url, now: lane.loop.now)
        else { throw URLError(.badServerResponse, request.url, "The response's head makes no sense.") }
        return response
    }

    /// Shows the response to the owner, and to a delegate or reader that waits for it.
    private func publish(_ response: URLResponse, received: Int64, expected: Int64) {
        let (consumer, schedules) = shared.withLock { shared -> (Consumer, Bool) in
            shared.response = response
            shared.counters.received = received
            // A program's own protocol class may announce anything.
            shared.counters.expectedToReceive = max(expected, NSURLSessionTransferSizeUnknown)
            loading.copiesMemory = shared.copiesBody
            let schedules = shared.noteProgress()
            guard case .delegate = shared.consumer, case .stream = loading.destination else {
                return (shared.consumer, schedules)
            }
            return (shared.consumer, shared.mailbox.post(.response(response)) || schedules)
        }
        if case .bytes(let stream) = consumer { afterCookieWrites { stream.respond(response) } }
        if schedules { scheduleDeliveryAtEndOfRound() }
    }

    // MARK: - Bodies

    func exchange(_ exchange: Exchange, received body: UnsafeRawBufferPointer) throws(URLError) {
        try receive(body)
    }

    func receive(_ body: UnsafeRawBufferPointer) throws(URLError) {
        switch loading.destination {
        case .memory:
            loading.receivedSinceSettled += Int64(body.count)
            loading.keep(body)
            if loading.copiesMemory { tellDelegate(of: body) }
        case .file:
            loading.receivedSinceSettled += Int64(body.count)
            try loading.file?.write(body)
        case .stream where loading.parts != nil:
            try receiveParts(body)
        case .stream:
            gatherForCache(body)
            stream(body)
        }
    }

    func stream(_ body: UnsafeRawBufferPointer) {
        let (schedules, delivery) = shared.withLock { shared -> (Bool, ByteStream.Delivery?) in
            let expected = shared.counters.expectedToReceive - shared.counters.received
            // With the bytes, so that whoever gets these finds the counters moved.
            shared.counters.received += Int64(body.count)
            let schedulesProgress = shared.noteProgress()
            if case .bytes(let stream) = shared.consumer {
                let (isFull, delivery) = stream.append(body, expected: expected)
                if isFull { _ = shared.machine.setBacklogged(true) }
                guard shared.copiesBody else { return (schedulesProgress, delivery) }
                return (shared.appendToMailbox(body, expected: expected) || schedulesProgress, delivery)
            }
            return (shared.appendToMailbox(body, expected: expected) || schedulesProgress, nil)
        }
        if schedules { scheduleDeliveryAtEndOfRound() }
        if let delivery { lane.loop.atEndOfRound(delivery.run) }
    }

    /// The task's own delegate hears of the bytes, and its pace counts as well.
    private func tellDelegate(of body: UnsafeRawBufferPointer) {
        if shared.withLock({ $0.appendToMailbox(body, expected: nil) }) { scheduleDeliveryAtEndOfRound() }
    }

    /// Counts what has come into memory or the file since it was last called, and tells a download's delegate.
    func countReceivedBytes() {
        let count = loading.receivedSinceSettled
        guard count > 0 else { return }
        loading.receivedSinceSettled = 0
        let schedules = shared.withLock { shared in
            shared.counters.received += count
            let schedules = shared.noteProgress()
            guard case .file = loading.destination, shared.tellsOfWrites else { return schedules }
            return shared.mailbox.post(.wrote(shared.counters.received)) || schedules
        }
        if schedules { scheduleDeliveryAtEndOfRound() }
    }

    func exchangeMayDeliver(_ exchange: Exchange) -> Bool {
        shared.withLock { $0.machine.mayDeliver }
    }

    func exchangeLeftConnection(_ exchange: Exchange) {
        noteConnection(of: exchange)
        if let ticket = loading.ticket.take() { lane.leave(ticket) }
    }

    func exchangeMaySend(_ exchange: Exchange) -> Bool {
        shared.withLock { !$0.machine.isSuspended }
    }

    func exchange(_ exchange: Exchange, sent totalBytes: Int64) {
        noteSent(totalBytes)
    }

    func exchangePaused(_ exchange: Exchange) {
        shared.withLock { $0.machine.paused() }
    }

    func exchangeSettled(_ exchange: Exchange) {
        countReceivedBytes()
        noteConnection(of: exchange)
        if loading.isSending { loading.bytesMovedAtLastActivity = exchange.bytesMoved }
        runOnLoop()
    }

    // MARK: - After the exchange

    func exchangeFinished(_ exchange: Exchange, _ error: URLError?) {
        countReceivedBytes()
        noteConnection(of: exchange)
        keepMetrics(of: exchange)
        loading.exchange = nil
        if let held = loading.held, held.exchange === exchange { return held.exchangeFinished(error) }
        if challengedInTunnel(exchange, error) { return }
        goOn(after: exchange, error)
    }

    /// The exchange is over, and nobody has to decide about it any more.
    func goOn(after exchange: Exchange, _ error: URLError?) {
        if let next = loading.nextRequest.take() { return follow(next) }
        if let error, asksAboutHandshake(after: exchange, error) { return }
        if deliversStoredResponse(after: exchange, error) { return }
        do throws(URLError) {
            if let error {
                if sendsAgain(after: exchange) { return }
                if waitsForConnectivity(after: error) || connectsAgain(after: exchange, error) { return }
                throw error
            }
            if try continuesAppending(exchange.request) { return }
            finishWithBody()
        } catch {
            finish(.failure(error))
        }
    }

    /// The body is complete.
    func finishWithBody() {
        finishParts()
        if !finishCaching() { completeBody() }
    }

    /// Nothing that has to be done with the body is left but handing it over.
    func completeBody() {
        switch loading.destination {
        case .memory:
            if let ticket = loading.ticket { lane.received(bodyOf: loading.memory.count, for: ticket) }
            finish(.data(loading.memory))
        // `finish` makes a file of it.
        case .file, .stream: finish(.delivered)
        }
        loading.memory = Data()
    }

    func follow(_ next: URLRequest) {
        endHop()
        shared.withLock { shared in
            shared.currentRequest = next
            shared.machine.requeue()
        }
        // A stream that has been read from can't be sent again; the cache may know of the next URL.
        if sendsStream || session.settings.hasProtocols || loading.caching.demand != nil { loading.preparation = .none }
        runOnLoop()
    }

    // MARK: - Time

    /// The resource clock is there when the task is first resumed, and stands still whenever it is suspended.
    func setResourceClock(isRunning: Bool) {
        if loading.resourceClock == nil {
            loading.deadline = Deadline { [unowned self] in checkClocks() }
            loading.resourceClock = ResourceClock(session.settings.resourceTimeout, from: lane.loop.now + putOff())
        }
        if loading.resourceClock?.setRunning(isRunning, at: lane.loop.now) ?? false { rearmDeadline() }
    }

    /// Sets the one deadline to the earlier of the two clocks. The idle clock runs while a transfer runs and isn't paused.
    func rearmDeadline() {
        guard let deadline = loading.deadline else { return }
        if let end = [idleEnd, loading.resourceClock?.end].compactMap(\.self).min() {
            lane.loop.schedule(deadline, at: end)
        } else {
            lane.loop.cancel(deadline)
        }
    }

    private var idleEnd: MonotonicTime? {
        guard let lastActivity = loading.exchange?.lastActivity ?? loading.load?.lastActivity else { return nil }
        let request = shared.withLock { $0.machine.mayTimeOut ? $0.currentRequest : nil }
        return request.map { lastActivity + session.settings.idleTimeout(for: $0) }
    }

    private func checkClocks() {
        let now = lane.loop.now
        // A suspension that the loop hasn't seen yet counts.
        if let runs = shared.withLock({ $0.machine.runsResourceClock }) { setResourceClock(isRunning: runs) }
        if let resourceEnd = loading.resourceClock?.end, resourceEnd <= now {
            let cause = loading.waiting.isInWaitingRoom ? loading.waiting.lastFailure : nil
            let description = "The task took longer than its configuration's timeoutIntervalForResource."
            return finish(.failure(timeoutError(description, cause)))
        }
        if let idleEnd, idleEnd <= now {
            // libcurl may still be sending what it was given long ago.
            let bytesMoved = loading.exchange?.bytesMoved ?? 0
            guard let exchange = loading.exchange, loading.isSending, bytesMoved > loading.bytesMovedAtLastActivity
            else {
                let error = timeoutError("Nothing was sent or received for as long as the request's time-out allows.")
                if let exchange = loading.exchange, waitsForConnectivity(afterTimingOut: exchange, error) { return }
                return finish(.failure(error))
            }
            loading.bytesMovedAtLastActivity = bytesMoved
            exchange.noteActivity()
        }
        rearmDeadline()
    }

    /// `cause` is what the task waited to be over.
    private func timeoutError(_ description: String, _ cause: URLError? = nil) -> URLError {
        let url = shared.withLock { $0.currentRequest?.url }
        return URLError(.timedOut, url, description, nil, cause.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }
}

extension TaskRunner.Shared {
    /// True when the caller must schedule a delivery.
    fileprivate mutating func appendToMailbox(_ body: UnsafeRawBufferPointer, expected: Int64?) -> Bool {
        let (schedules, isFull) = mailbox.append(body, expected: expected)
        if isFull { _ = machine.setBacklogged(true) }
        return schedules
    }

    /// Whether a delegate hears of what is written to a download's file: of its own task's, and one that was passed to an async call.
    fileprivate var tellsOfWrites: Bool {
        switch consumer {
        case .delegate: true
        case .file: delegates.download != nil
        case .data, .bytes, .dataHandler, .fileHandler, .informed: false
        }
    }
}

extension TaskRunner.Loading {
    /// Most bodies come in one piece, and then are copied to where they fit exactly.
    fileprivate mutating func keep(_ body: UnsafeRawBufferPointer) {
        if memory.isEmpty {
            if body.count >= reservation { return memory = Data(body) }
            memory.reserveCapacity(reservation)
        }
        memory.append(contentsOf: body)
    }

    /// The exchange under way carries a body, and the answer has not begun.
    fileprivate var isSending: Bool { exchange?.hasBody ?? false && exchange?.head == nil }
}
