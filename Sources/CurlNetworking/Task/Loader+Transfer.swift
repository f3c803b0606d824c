import CurlTransport
import Foundation

// A transfer's reports. Everything runs on the loop; methods called from libcurl's callbacks only record.

extension Loader: TransferDelegate {
    // MARK: - The response

    func transfer(_ transfer: any Transfer, received head: ReceivedHead) throws(URLError) -> BodyRoute {
        guard case .transferring(let transferring) = phase else { return .discard }
        return try askSteps(about: head, from: 0, transferring)
    }

    /// Asks the steps about the response, starting with number `first`.
    func askSteps(
        about received: ReceivedHead,
        from first: Int,
        _ transferring: Phase.Transferring
    ) throws(URLError) -> BodyRoute {
        guard let (verdict, step) = try steps.receive(received, from: first, self) else {
            try accept(AcceptedResponse(received, HeadVerdict.Placement()))
            return .deliver
        }
        return try act(on: verdict, about: received, by: step, transferring)
    }

    func act(
        on verdict: HeadVerdict,
        about received: ReceivedHead,
        by step: Int,
        _ transferring: Phase.Transferring
    ) throws(URLError) -> BodyRoute {
        switch verdict {
        case .hold(let response):
            enter(.held(Phase.Holding(response, .head(received, transferring, step: step, ending: nil))))
            return .hold
        case .follow(let next):
            enter(.transferring(transferring.followed(by: .request(next))))
            return .discard
        case .load(let next):
            enter(.transferring(transferring.followed(by: .transfer(next))))
            return .discard
        case .deliver(let placement):
            try accept(AcceptedResponse(received, placement))
            return placement.isComplete ? .discard : .deliver
        case .pass:
            return try askSteps(about: received, from: step + 1, transferring)
        }
    }

    func transfer(
        _ transfer: any Transfer,
        received response: URLResponse,
        storagePolicy: URLCache.StoragePolicy
    ) throws(URLError) {
        let expected = response.expectedContentLength
        try accept(AcceptedResponse(response, to: request, expected: expected, storagePolicy: storagePolicy))
    }

    /// Prepares the sink for the body, and shows the response.
    func accept(_ response: AcceptedResponse) throws(URLError) {
        try sink.makeRoom(for: response)
        handle.count { $0.show(response) }
        sink.begin(response)
        sink = steps.accept(response, into: sink, self)
    }

    func transfer(_ transfer: any Transfer, opened tunnel: ProxyTunnel) {
        if let request { steps.authentication.noteOpened(tunnel, for: request, self) }
    }

    func transfer(_ transfer: any Transfer, receivedInformational head: ResponseHead) {
        if let request, let upload = steps.upload {
            upload.receive(informational: head, to: request)
            handle.shared.withLock { $0.uploadResource = upload.course.resource }
        }
        if handle.isWatched, let request { handle.tell(.informational(head, to: request)) }
    }

    // MARK: - Bodies

    func transfer(_ transfer: any Transfer, received body: UnsafeRawBufferPointer) throws(URLError) {
        try sink.receive(body)
    }

    func transferMayDeliver(_ transfer: any Transfer) -> Bool {
        !phase.isHeld && handle.shared.withLock { $0.machine.mayDeliver }
    }

    func transferLeftConnection(_ transfer: any Transfer) {
        place.note(transfer.connection)
        if case .held(let holding) = phase { stepAside(during: holding) } else { place.leave() }
    }

    /// Called when the response that is held is over: the delegate's answer may depend on another request to its host.
    private func stepAside(during holding: Phase.Holding) {
        if !holding.token.keepsPlace { place.stepAside() }
    }

    func transferMaySend(_ transfer: any Transfer) -> Bool { !handle.isSuspended && !phase.isHeld }

    func transfer(_ transfer: any Transfer, sent totalBytes: Int64) {
        handle.noteSent(totalBytes, from: steps.upload?.noteSent(totalBytes))
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
        transferEnded(ending)
    }

    /// Called when the transfer is over. Carries out the decision about it, or keeps the ending while the decision is pending.
    func transferEnded(_ ending: TransferEnding) {
        switch phase {
        case .held(var holding):
            guard case .head(let head, let transferring, let step, _) = holding.content else { return }
            holding.content = .head(head, transferring, step: step, ending: ending)
            enter(.held(holding))
            stepAside(during: holding)
        case .transferring(let transferring):
            enter(.deciding)
            switch transferring.next {
            case .request(let next): follow(next)
            case .transfer(let transfer): begin(transfer, of: nil)
            case nil: askSteps(about: ending, from: 0)
            }
        case .ready, .waiting, .queued, .moving, .encoding, .deciding, .storing, .finishing, .ended:
            break
        }
    }

    /// Asks the steps how to continue, starting with number `first`.
    func askSteps(about ending: TransferEnding, from first: Int) {
        guard let request, let (verdict, step) = steps.end(ending, of: request, from: first, self) else {
            return finishUnlessFailed(ending)
        }
        act(on: verdict, about: ending, by: step)
    }

    func act(on verdict: EndVerdict, about ending: TransferEnding, by step: Int) {
        switch verdict {
        case .pass: finishUnlessFailed(ending)
        case .wait where ending.error == nil:
            if let body = sink.wholeBody { place.note(bodyOf: body.count) }
            // Nothing is left to be done at the host.
            place.leave()
            enter(.storing(step: step))
        case .wait: sendAgain(after: step, ending)
        case .again: sendAgain(after: nil, ending)
        case .hold(let response): enter(.held(Phase.Holding(response, .failure(ending, step: step))))
        case .follow(let next): follow(next)
        case .load(let transfer): begin(transfer, of: nil)
        case .fail(let error): finish(.failure(error.with(phase: ending.phase)))
        }
    }

    private func finishUnlessFailed(_ ending: TransferEnding) {
        if let error = ending.error { return finish(.failure(error)) }
        guard ending.head != nil || handle.shownResponse != nil || !sink.needsResponse else {
            return finish(.failure(.noResponse(request?.url)))
        }
        finishSink()
    }

    /// The body is complete, and only needs to be handed over.
    func finishSink() {
        sink.complete()
        // A response that is read as a stream may have been read to its end by now, which ends the task.
        if isOver { return }
        enter(.finishing)
        sink.finish { self.sinkFinished($0) }
        // Finishing takes time, and nothing is left to be done at the host.
        if case .finishing = phase { place.leave() }
    }

    private func sinkFinished(_ outcome: Outcome) {
        guard case .finishing = phase else { return }
        if case .data(let data) = outcome { place.note(bodyOf: data.count) }
        finish(outcome)
    }

    /// Sends `next` instead of ending the task.
    func follow(_ next: URLRequest) {
        hops.endHop(of: handle)
        replaceRequest(next)
        prepareNext(from: 0)
    }

    /// Makes the steps prepare another transfer after one is over, starting with number `step`.
    func prepareNext(from step: Int) {
        steps.connectivity.requestBegins()
        enter(.ready(step: step, .first))
        run()
    }

    /// Retries a request of which nothing was sent. `step` is the number of the step that asked for this, if one did.
    func sendAgain(after step: Int?, _ ending: TransferEnding) {
        hops.forgetAttempt()
        steps.connectivity.attemptEnds(in: ending.phase)
        // A handshake question doesn't count as a failure of the host.
        if ending.handshakeQuestion == nil { place.noteFailure() }
        place.leave()
        enter(step.map { .waiting(step: $0, .repeated) } ?? .ready(step: 0, .repeated))
        rearmClocks()
        run()
    }
}
