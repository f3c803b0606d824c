import Foundation

extension ServerConnection {
    /// The socket has something to read.
    func receive() {
        switch Sockets.receive(socket, into: core.receiveBuffer) {
        case .moved(let count):
            received(UnsafeRawBufferPointer(core.receiveBuffer).part(..<count))
        case .ended:
            clientFinished()
        case .wouldBlock:
            break
        case .failed:
            close()
        }
    }

    private func clientFinished() {
        guard core.options.allowsHalfClose else { return close() }
        switch phase {
        case .answering:
            hasClientFinished = true
        case .conversing(let conversation):
            hasClientFinished = true
            script.append(conversation(.finished) + [.close])
            perform()
        case .idle, .receiving, .answeringEarly, .draining, .lingering, .closed:
            close()
        }
    }

    /// Takes what it can from `bytes`, and keeps what is for a later request.
    func received(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        do {
            while true {
                switch phase {
                case .idle, .receiving, .answeringEarly, .draining: break
                case .answering: return pending.append(contentsOf: rest)
                case .conversing(let conversation): return converse(conversation, rest)
                case .lingering, .closed: return
                }
                guard let event = try parser.next(&rest) else { return }
                switch event {
                case .head(let head): headArrived(head)
                case .body(let piece): bodyArrived(piece)
                case .end(let trailers): requestEnded(trailers)
                }
            }
        } catch {
            reject(error)
        }
    }

    private func headArrived(_ head: RequestHead) {
        requestCount += 1
        var request = LoopbackServer.Request(head: head, connection: Int(number), ordinalOnConnection: requestCount)
        let keeps = core.options.keepsRequests
        core.recorder.note { state in
            state.heads += 1
            request.ordinal = state.heads
            guard keeps else { return }
            state.requests.append(request)
            state.sent.append(0)
        }
        self.request = request
        phase = .receiving
        if head.framing == .none { return }
        guard case .http(let answering, _) = core.service else { return }
        if answering == .atHead {
            phase = .answeringEarly
            answer(request)
        } else if head.expectsContinue, core.options.sendsContinue {
            script.append([.bytes("HTTP/1.1 100 Continue\r\n\r\n")])
            perform()
        }
    }

    private func bodyArrived(_ piece: UnsafeRawBufferPointer) {
        guard var request else { return }
        self.request = nil  // so that appending copies nothing
        let room = core.options.bodyLimit - request.body.count
        if room > 0, let start = piece.baseAddress?.assumingMemoryBound(to: UInt8.self) {
            request.body.append(start, count: min(room, piece.count))
        }
        request.bodyLength += Int64(piece.count)
        let (index, length, keeps) = (request.ordinal - 1, request.bodyLength, core.options.keepsRequests)
        self.request = request
        core.recorder.note { state in
            state.bodyBytesReceived += Int64(piece.count)
            if keeps { state.requests[index].bodyLength = length }
        }
        if case .bytes = wait {
            bytesArrived()
            perform()
        }
    }

    private func requestEnded(_ trailers: [LoopbackServer.Field]) {
        guard var request else { return }
        request.trailers = trailers
        request.bodyState = .complete
        self.request = request
        let keeps = core.options.keepsRequests
        core.recorder.note { state in
            state.completed += 1
            if keeps { state.requests[request.ordinal - 1] = request }
        }
        switch phase {
        case .receiving:
            phase = .answering
            answer(request)
        case .answeringEarly:
            phase = .answering
            if case .body = wait {
                setWait(.nothing)
                perform()
            } else if case .bytes = wait {
                bytesArrived()
                perform()
            }
        case .draining:
            phase = .idle
            self.request = nil
        case .idle, .answering, .conversing, .lingering, .closed:
            assertionFailure("A request ended without having begun")
        }
    }

    /// The connection ends before the request does.
    func cutOffBody() {
        guard var request, request.bodyState == .arriving else { return }
        request.bodyState = .cutOff
        self.request = request
        if case .bytes(_, let next) = wait { _ = next(request) }
        guard core.options.keepsRequests else { return }
        core.recorder.note { $0.requests[request.ordinal - 1] = request }
    }

    /// Says that the client can't be understood, unless it's in the middle of an answer, and closes.
    private func reject(_ rejection: Rejection) {
        core.recorder.note { $0.rejections.append(rejection.status) }
        switch phase {
        case .idle, .receiving:
            let response = LoopbackServer.Response.text(rejection.reason, status: rejection.status).closing()
            cutOffBody()
            phase = .answeringEarly  // so that the connection lingers
            script = Script(response.steps(for: LoopbackServer.Request(), date: core.date))
            setWait(.nothing)
            perform()
        case .answeringEarly, .draining, .answering, .conversing, .lingering, .closed:
            close()
        }
    }
}
