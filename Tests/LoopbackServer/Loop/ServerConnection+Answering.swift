import Foundation

extension ServerConnection {
    /// How much one connection may send before the others get their turn.
    private static let share = 1 << 20
    /// How often to check, before an RST, whether the client has everything sent so far.
    private static let resetInterval = Duration.milliseconds(1)

    /// Asks the handler, and starts to do what it says.
    func answer(_ request: LoopbackServer.Request) {
        guard case .http(_, let handler) = core.service else { return }
        let response = handler(request)
        script.append(response.steps(for: request, date: core.date))
        perform()
    }

    /// Ends HTTP, or never begins it. Call `perform()` next.
    func begin(_ conversation: @escaping LoopbackServer.Conversation) {
        cutOffBody()
        phase = .conversing(conversation)
        script.append(conversation(.opened))
    }

    /// Hands over what the client has sent.
    func converse(_ conversation: LoopbackServer.Conversation, _ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        script.append(conversation(.received(bytes.data)))
        perform()
    }

    /// Performs steps until one has to wait or none is left.
    func perform() {
        var share = Self.share
        while case .nothing = wait, !isClosed {
            if let action = script.takeAction() {
                act(action)
            } else if script.isFinished {
                return finishAnswer()
            } else if share <= 0 {
                yield()
            } else {
                share -= sendNext()
            }
        }
    }

    private func act(_ step: LoopbackServer.Step) {
        switch step {
        case .bytes, .body, .chunks:
            assertionFailure("Payload is sent, not performed")
        case .pause(let duration):
            setWait(.deadline(.now + duration))
        case .waitFor(let gate):
            waitFor(gate)
        case .open(let gate):
            gate.open()
        case .waitForBody:
            if case .answeringEarly = phase { setWait(.body) }
        case .receive(let limit, let next):
            setWait(.bytes(upTo: limit, next))
            bytesArrived()
        case .throttle(let bytesPerSecond):
            throttle = bytesPerSecond.map { Throttle(bytesPerSecond: $0, start: .now) }
        case .stopReading:
            isReadingStopped = true
        case .resumeReading:
            isReadingStopped = false
        case .converse(let conversation):
            begin(conversation)
        case .close:
            finish()
        case .reset:
            resetWhenDelivered()
        case .never:
            setWait(.forever)
        }
    }

    /// Continues if as much of the body has arrived as the answer waits for.
    func bytesArrived() {
        guard case .bytes(let limit, let next) = wait, let request else { return }
        let isEnough = limit.map { request.bodyLength >= $0 } ?? false
        guard isEnough || request.bodyState != .arriving else { return }
        setWait(.nothing)
        for step in next(request).reversed() { script.putBack(step) }
    }

    private func waitFor(_ gate: Gate) {
        guard !gate.isOpen else { return }
        setWait(.gate(gate))
        gate.whenOpen { [weak core, number] in
            guard let core else { return }
            core.loop.execute { core.connection(number)?.gateOpened(gate) }
        }
    }

    private func yield() {
        setWait(.turn)
        core.loop.execute { [core, number] in core.connection(number)?.turnCame() }
    }

    /// An RST makes the kernel discard what the client hasn't acknowledged, so that is waited for first.
    private func resetWhenDelivered() {
        guard Sockets.unacknowledged(socket) > 0 else { return reset() }
        script.putBack(.reset)
        setWait(.deadline(.now + Self.resetInterval))
    }

    /// Sends once. Returns how many bytes the kernel took.
    private func sendNext() -> Int {
        var limit = core.sendBuffer.count
        if let throttle {
            limit = min(limit, throttle.allowance(at: .now))
            guard limit > 0 else {
                setWait(.deadline(throttle.next))
                return 0
            }
        }
        let count = script.copy(to: UnsafeMutableRawBufferPointer(rebasing: core.sendBuffer[..<limit]))
        switch send(UnsafeRawBufferPointer(rebasing: core.sendBuffer[..<count])) {
        case .moved(let sent):
            script.sent(sent)
            throttle?.count(sent)
            if sent < count { setWait(.socketWritable) }
            return sent
        case .wouldBlock:
            setWait(.socketWritable)
        case .failed, .ended:
            close()
        }
        return 0
    }

    /// Sends within the note, so that a client that has the bytes finds them recorded.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Sockets.Transfer {
        let index = (request?.ordinal ?? 0) - 1
        return core.recorder.note { state in
            let transfer = Sockets.send(socket, bytes)
            if case .moved(let sent) = transfer {
                state.bytesSent += Int64(sent)
                if state.sent.indices.contains(index) { state.sent[index] += Int64(sent) }
            }
            return transfer
        }
    }

    private func finishAnswer() {
        switch phase {
        case .answering:
            phase = .idle
            request = nil
            throttle = nil
            isReadingStopped = false
        case .answeringEarly:
            phase = .draining
            throttle = nil
            isReadingStopped = false
        case .receiving, .conversing:
            break  // that was 100 Continue, or one of many answers
        case .idle, .draining, .lingering, .closed:
            assertionFailure("An answer ended without having begun")
        }
    }
}
