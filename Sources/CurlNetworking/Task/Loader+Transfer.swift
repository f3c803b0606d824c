import CurlTransport
import Foundation

// What a transfer reports. Everything on the loop; what libcurl's callbacks reach only records.

extension Loader: TransferDelegate {
    // MARK: - The response

    func transfer(_ transfer: any Transfer, received head: ReceivedHead) throws(URLError) -> BodyRoute {
        guard case .transferring(let transferring) = phase else { return .discard }
        return try decide(about: head, from: 0, transferring)
    }

    /// Asks the steps what the response means, from the one of that number on.
    func decide(
        about received: ReceivedHead,
        from first: Int,
        _ transferring: Phase.Transferring
    ) throws(URLError) -> BodyRoute {
        guard let (verdict, step) = try steps.receive(received, from: first, self) else {
            return try accept(received, HeadVerdict.Placement())
        }
        return try act(on: verdict, about: .head(received), by: step, transferring)
    }

    /// What a step has said about a response; `.pass` is the caller's.
    func act(
        on verdict: HeadVerdict,
        about content: Phase.Holding.Content,
        by step: Int,
        _ transferring: Phase.Transferring
    ) throws(URLError) -> BodyRoute {
        switch verdict {
        case .hold(let response):
            hold(response, content, nextStep: step + 1, transferring)
            return .hold
        case .follow(let next):
            succeed(transferring, by: .request(next))
            return .discard
        case .load(let next):
            succeed(transferring, by: .transfer(next))
            return .discard
        case .deliver(let placement):
            if case .head(let received) = content { return try accept(received, placement) }
            return .discard
        case .pass:
            return .deliver
        }
    }

    private func succeed(_ transferring: Phase.Transferring, by next: Phase.Succession) {
        var transferring = transferring
        transferring.next = next
        enter(.transferring(transferring))
    }

    /// The response is the task's own.
    private func accept(
        _ received: ReceivedHead,
        _ placement: HeadVerdict.Placement
    ) throws(URLError) -> BodyRoute {
        let head = placement.head ?? received.head
        try accept(
            AcceptedResponse(
                response: try head.shownResponse(to: received.request),
                head: head,
                request: received.request,
                offset: placement.offset,
                expected: placement.expected ?? head.expectedLength(to: received.request)
            )
        )
        return placement.isComplete ? .discard : .deliver
    }

    func transfer(
        _ transfer: any Transfer,
        received response: URLResponse,
        storagePolicy: URLCache.StoragePolicy
    ) throws(URLError) {
        try accept(
            AcceptedResponse(
                response: response,
                head: nil,
                request: request,
                expected: response.expectedContentLength,
                storagePolicy: storagePolicy
            )
        )
    }

    /// Makes room for the body, and shows the response to whom it concerns.
    func accept(_ response: AcceptedResponse) throws(URLError) {
        try sink.makeRoom(for: response)
        handle.count { shared in
            shared.response = response.response
            shared.counters.received = response.offset
            // A program's own protocol class may announce anything.
            shared.counters.expectedToReceive = max(response.expected, NSURLSessionTransferSizeUnknown)
        }
        sink.begin(response)
        sink = steps.accept(response, into: sink, self)
    }

    func transfer(_ transfer: any Transfer, receivedInformational head: ResponseHead) {
        if handle.isWatched, let request { handle.tell(.informational(head, to: request)) }
    }

    // MARK: - Bodies

    func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError) {
        try sink.receive(body)
    }

    func transferMayDeliver(_ transfer: any Transfer) -> Bool {
        handle.shared.withLock { $0.machine.mayDeliver }
    }

    func transferLeftConnection(_ transfer: any Transfer) {
        place.note(transfer.connection)
        place.leave()
    }

    func transferMaySend(_ transfer: any Transfer) -> Bool { !handle.isSuspended }

    func transfer(_ transfer: any Transfer, sent totalBytes: Int64) {
        handle.noteSent(totalBytes)
    }

    func transferPaused(_ transfer: any Transfer) {
        handle.shared.withLock { $0.machine.paused() }
    }

    func transferSettled(_ transfer: any Transfer) {
        sink.settle()
        place.note(transfer.connection)
        run()
    }

    // MARK: - The end

    func transferFinished(_ transfer: any Transfer, _ ending: TransferEnding) {
        sink.settle()
        place.note(transfer.connection)
        hops.end(transfer)
        switch phase {
        case .held(var holding):
            holding.ending = ending
            enter(.held(holding))
        case .transferring(let transferring):
            enter(.deciding)
            goOn(after: ending, transferring.next)
        case .ready, .waiting, .queued, .moving, .encoding, .deciding, .storing, .ended:
            break
        }
    }

    /// Nobody has to decide about the transfer any more.
    func goOn(after ending: TransferEnding, _ next: Phase.Succession?) {
        switch next {
        case .request(let next): follow(next)
        case .transfer(let transfer): begin(transfer, of: nil)
        case nil: end(ending, from: 0)
        }
    }

    /// Asks the steps what follows, from the one of that number on.
    func end(_ ending: TransferEnding, from first: Int) {
        guard let request else { return finishWithBody(ending) }
        guard let (verdict, step) = steps.end(ending, of: request, from: first, self) else {
            return finishWithBody(ending)
        }
        switch verdict {
        case .pass: finishWithBody(ending)
        case .wait where ending.error == nil: enter(.storing(step: step))
        case .wait: sendAgain(after: step)
        case .again: sendAgain(after: nil)
        case .hold(let response): hold(response, .failure, nextStep: step + 1, nil, ending)
        case .follow(let next): follow(next)
        case .load(let transfer): begin(transfer, of: nil)
        case .fail(let error): finish(.failure(error))
        }
    }

    private func finishWithBody(_ ending: TransferEnding) {
        if let error = ending.error { return finish(.failure(error)) }
        guard ending.head != nil || handle.shownResponse != nil || !sink.needsResponse else {
            let description = "The body is over, and there was no response."
            return finish(.failure(URLError(.badServerResponse, request?.url, description)))
        }
        finishWithBody()
    }

    /// The body is complete, and nothing has to be done with it but handing it over.
    func finishWithBody() {
        sink.complete()
        do throws(URLError) {
            let outcome = try sink.finish()
            if case .data(let data) = outcome { place.note(bodyOf: data.count) }
            finish(outcome)
        } catch {
            finish(.failure(error))
        }
    }

    /// `next` goes out instead of the task's end.
    func follow(_ next: URLRequest) {
        endHop()
        replaceRequest(next)
        handle.shared.withLock { $0.machine.requeue() }
        enter(.ready(step: 0, .first))
        run()
    }

    /// Nothing of the request was sent: it goes out again, where `step` is named once that says so.
    func sendAgain(after step: Int?) {
        hops.forgetAttempt()
        place.noteFailure()
        place.leave()
        handle.shared.withLock { $0.machine.requeue() }
        enter(step.map { .waiting(step: $0, .repeated) } ?? .ready(step: 0, .repeated))
        rearmClocks()
        run()
    }
}

extension ResponseHead {
    /// How long the body is that comes with the head; `NSURLSessionTransferSizeUnknown` where nobody knows. Decoded bytes.
    fileprivate func expectedLength(to request: URLRequest) -> Int64 {
        if request.httpMethod == "HEAD" || status == 204 || status == 304 { return 0 }
        return isContentCoded ? NSURLSessionTransferSizeUnknown : contentLength ?? NSURLSessionTransferSizeUnknown
    }

    /// The response as the task shows it: FTP has no status and no fields.
    fileprivate func shownResponse(to request: URLRequest) throws(URLError) -> URLResponse {
        guard version == FTPReplies.version, let url = request.url else { return try response(to: request) }
        return URLResponse(
            url: url,
            mimeType: url.path.hasSuffix("/") ? "text/plain" : MIMEType.guess(forPath: url.path),
            expectedContentLength: Int(contentLength ?? NSURLSessionTransferSizeUnknown),
            textEncodingName: nil
        )
    }
}
