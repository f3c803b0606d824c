import CurlTransport
import Foundation

/// Finds the stream for a request's body: a stream can be read only once.
///
/// The request's own stream serves the first transfer, as does that of a request which the delegate or a protocol class has put in its place; for
/// later ones the delegate is asked. A streamed upload asks the delegate for the first one too, and falls back to the request's own stream if the
/// delegate has none.
///
/// `@unchecked Sendable`: used on the loop only.
final class StreamStep: Step, @unchecked Sendable {
    private enum State {
        /// The next request needs one.
        case needed
        /// The delegate has been asked.
        case asking
        /// libcurl reads nothing of a body without length, so an empty one must be recognised before: one that has said nothing by the deadline is
        /// taken for empty.
        case findingEnd(InputStream, until: Deadline)
        case found(InputStream)
        case failed(URLError)
    }

    private var state = State.needed
    /// Where in the body the next one begins, in bytes.
    private var offset: Int64 = 0
    /// The last one that was sent.
    private var spent: Spent?

    private struct Spent {
        let stream: InputStream
        /// Where in the body it begins, in bytes.
        let offset: Int64
        /// What it became.
        var body: StreamedBody?
    }

    /// The stream for the transfer that is about to be made; nil if it has none.
    func take() -> InputStream? {
        guard case .found(let stream) = state else { return nil }
        state = .needed
        spent = Spent(stream: stream, offset: offset)
        return stream
    }

    /// The transfer that is about to be made has this body.
    func note(_ body: (any RequestBody)?) {
        spent?.body = body as? StreamedBody
    }

    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict {
        switch part(of: host.request, host) {
        case .whole:
            offset = 0
            guard sendsStream(host) else { return .pass }
        case .none: return .pass
        case .rest(let rest):
            guard host.owner.body.isStream, rest.length != 0 else { return .pass }
            offset = rest.offset
        }
        switch state {
        case .found: return .pass
        case .asking, .findingEnd: return .wait
        case .failed(let error): return .fail(error)
        case .needed: break
        }
        // The connection came to nothing, or to a question, before anything of the stream was read.
        if attempt == .repeated, let unread {
            state = .found(unread)
            return .pass
        }
        if !host.owner.body.isStreamedUpload, let stream = unspentStream(of: host.request, host) {
            use(stream, for: host.request, host)
            if case .found = state { return .pass }
            return .wait
        }
        state = .asking
        host.owner.ask(
            .bodyStream(from: offset) { [weak self, weak host] stream in
                guard let self, let host else { return }
                nonisolated(unsafe) let stream = stream
                host.owner.submit { self.arrived(stream, host) }
            }
        )
        return .wait
    }

    /// Whether the current request has a stream for its body: the task's, or one that it got on its way.
    private func sendsStream(_ host: any StepHost) -> Bool {
        let (body, stream) = (host.owner.body, host.request?.httpBodyStream)
        // Whatever request is current: one that the delegate has put in its place has the body that the delegate wants.
        if body.isInRequest { return stream != nil }
        let isKept = body.isKept(by: host.request, after: host.steps.redirect)
        if body.isStream { return isKept || unspentStream(of: host.request, host) != nil }
        return stream != nil && !isKept
    }

    private func part(of request: URLRequest?, _ host: any StepHost) -> BodyPart {
        request.flatMap { host.steps.upload?.part(of: $0) } ?? .whole
    }

    private func unspentStream(of request: URLRequest?, _ host: any StepHost) -> InputStream? {
        guard let stream = request?.httpBodyStream, stream !== spent?.stream else { return nil }
        guard host.owner.body.hasBegunWith(stream) else { return stream }
        return spent == nil && host.redirectCount == 0 ? stream : nil
    }

    /// The last one, if nothing of it was read and it serves the next transfer as well.
    private var unread: InputStream? {
        guard let spent, spent.body?.hasBegun == false, spent.offset == offset else { return nil }
        return spent.stream
    }

    /// The delegate's answer; only the first counts.
    private func arrived(_ stream: InputStream?, _ host: any StepHost) {
        guard case .asking = state, !host.isOver else { return }
        // Sending the same one again would send an empty body.
        let rest = part(of: host.request, host).rest
        if let stream = stream ?? unspentStream(of: host.request, host) ?? unread,
            stream !== spent?.stream || stream === unread, canSend(stream, as: rest, host)
        {
            use(stream, for: host.request, host)
        } else {
            let offset = rest?.offset
            let description =
                offset.map { "The upload can't be resumed: there is no stream with its body from byte \($0) on." }
                ?? "There is no stream with the request's body, or none that has not been read from."
            state = .failed(URLError(.requestBodyStreamExhausted, host.request?.url, description))
        }
        if case .findingEnd = state { return }
        host.proceed(self)
    }

    /// - Parameter rest: What is to be sent of an upload; nil for a body from its beginning.
    private func canSend(_ stream: InputStream, as rest: UploadRest?, _ host: any StepHost) -> Bool {
        switch stream.streamStatus {
        case .closed, .error: false
        // If the server has all that was sent, nothing may follow.
        case .atEnd: rest.map { $0.length == nil && $0.offset == host.steps.upload?.course.sent } ?? false
        default: true
        }
    }

    private func use(_ stream: InputStream, for request: URLRequest?, _ host: any StepHost) {
        nonisolated(unsafe) let stream = stream
        // A thread may still be reading one that serves once more.
        guard let request, TaskBody.announcedLength(of: request) == 0, stream !== spent?.stream else {
            return state = .found(stream)
        }
        let deadline = Deadline { [weak self, weak host] in
            if let self, let host { timeIsUp(for: stream, of: request, host) }
        }
        state = .findingEnd(stream, until: deadline)
        arm(deadline, request, host)
        StreamedBody.findEnd(of: stream, url: request.url) { [weak self, weak host] error in
            guard let self, let host else { return }
            host.owner.submit { self.foundEnd(of: stream, error, host) }
        }
    }

    private func arm(_ deadline: Deadline, _ request: URLRequest, _ host: any StepHost) {
        let loop = host.pool.loop
        loop.schedule(deadline, at: loop.now + host.session.settings.idleTimeout(for: request))
    }

    /// A suspended task has all of its time again when it is resumed.
    private func timeIsUp(for stream: InputStream, of request: URLRequest, _ host: any StepHost) {
        guard case .findingEnd(_, let deadline) = state, host.owner.isSuspended else {
            return foundEnd(of: stream, nil, host)
        }
        arm(deadline, request, host)
    }

    /// Only the first answer counts.
    private func foundEnd(of stream: InputStream, _ error: URLError?, _ host: any StepHost) {
        guard case .findingEnd(let current, let deadline) = state, current === stream else { return }
        host.pool.loop.cancel(deadline)
        state = error.map { .failed($0) } ?? .found(stream)
        host.proceed(self)
    }

    /// A thread that reads the stream closes it when its read returns.
    func stop(_ host: any StepHost) {
        if case .findingEnd(_, let deadline) = state { host.pool.loop.cancel(deadline) }
    }
}
