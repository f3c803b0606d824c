import CurlTransport
import Foundation

/// Finds the stream for a request's body: a stream can be read only once.
///
/// The request's own stream serves the first transfer, as does that of a request with which the delegate or a protocol class replaced it;
/// for later transfers the delegate is asked. A streamed upload asks the delegate for the first one too, and falls back to the request's
/// own stream if the delegate has none.
///
/// `@unchecked Sendable`: used on the loop only.
final class BodyStreamStep: Step, @unchecked Sendable {
    private enum State {
        /// The next request needs one.
        case needed
        /// The delegate has been asked.
        case asking
        /// libcurl reads nothing of a body of length 0, so the stream must be checked first: one that is silent until the deadline counts
        /// as empty.
        case findingEnd(InputStream, until: Deadline)
        case found(InputStream)
        case failed(URLError)
    }

    private var state = State.needed
    /// Where in the body the next one begins, in bytes.
    private var offset: Int64 = 0
    /// The last stream that was sent.
    private var spent: Spent?

    private struct Spent {
        let stream: InputStream
        /// Where in the body it begins, in bytes.
        let offset: Int64
        /// The body made from it.
        var body: StreamedBody?
    }

    /// The stream for the transfer that is about to be made; nil if it has none.
    func take() -> InputStream? {
        guard case .found(let stream) = state else { return nil }
        state = .needed
        spent = Spent(stream: stream, offset: offset)
        return stream
    }

    /// Notes the body of the transfer that is about to be made.
    func note(_ body: (any RequestBody)?) {
        spent?.body = body as? StreamedBody
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        switch part(of: context.request, context) {
        case .whole:
            offset = 0
            guard sendsStream(context) else { return .pass }
        case .none: return .pass
        case .rest(let rest):
            guard context.owner.body.isStream, rest.length != 0 else { return .pass }
            offset = rest.offset
        }
        switch state {
        case .found: return .pass
        case .asking, .findingEnd: return .wait
        case .failed(let error): return .fail(error)
        case .needed: return find(attempt, context)
        }
    }

    private func find(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        // Connecting failed, or led to a question, before anything of the stream was read.
        if attempt == .repeated, let unread {
            state = .found(unread)
            return .pass
        }
        if !context.owner.body.isStreamedUpload, let stream = unspentStream(of: context.request, context) {
            use(stream, for: context.request, context)
            if case .found = state { return .pass }
            return .wait
        }
        state = .asking
        context.owner.ask(
            .bodyStream(from: offset) { [weak self, weak context] stream in
                guard let self, let context else { return }
                nonisolated(unsafe) let stream = stream
                context.owner.submit { self.arrived(stream, context) }
            }
        )
        return .wait
    }

    /// Whether the current request has a stream for its body: the task's, or one that it got along the way.
    private func sendsStream(_ context: any StepContext) -> Bool {
        let (body, stream) = (context.owner.body, context.request?.httpBodyStream)
        // Whichever request is current: a replacement by the delegate has the body that the delegate wants.
        if body.isInRequest { return stream != nil }
        let isKept = body.isKept(by: context.request, after: context.steps.redirect)
        if body.isStream { return isKept || unspentStream(of: context.request, context) != nil }
        return stream != nil && !isKept
    }

    private func part(of request: URLRequest?, _ context: any StepContext) -> BodyPart {
        request.map { context.part(of: $0) } ?? .whole
    }

    private func unspentStream(of request: URLRequest?, _ context: any StepContext) -> InputStream? {
        guard let stream = request?.httpBodyStream, stream !== spent?.stream else { return nil }
        guard context.owner.body.hasBegunWith(stream) else { return stream }
        return spent == nil && context.redirectCount == 0 ? stream : nil
    }

    /// The last stream, if nothing of it was read and it also serves the next transfer.
    private var unread: InputStream? {
        guard let spent, spent.body?.hasBegun == false, spent.offset == offset else { return nil }
        return spent.stream
    }

    /// The delegate's answer; only the first counts.
    private func arrived(_ stream: InputStream?, _ context: any StepContext) {
        guard case .asking = state, !context.isOver else { return }
        // Sending the same one again would send an empty body.
        let rest = part(of: context.request, context).rest
        if let stream = stream ?? unspentStream(of: context.request, context) ?? unread,
            stream !== spent?.stream || stream === unread, canSend(stream, as: rest, context)
        {
            use(stream, for: context.request, context)
        } else {
            let offset = rest?.offset
            let description =
                offset.map { "The upload can't be resumed: there is no stream with its body from byte \($0) on." }
                ?? "There is no stream with the request's body, or none that has not been read from."
            state = .failed(URLError(.requestBodyStreamExhausted, url: context.request?.url, description))
        }
        if case .findingEnd = state { return }
        context.proceed(self)
    }

    /// - Parameter rest: What is to be sent of an upload; nil for a body from its beginning.
    private func canSend(_ stream: InputStream, as rest: UploadRest?, _ context: any StepContext) -> Bool {
        switch stream.streamStatus {
        case .closed, .error: false
        // If the server has everything that was sent, the rest may be empty.
        case .atEnd: rest.map { $0.length == nil && $0.offset == context.steps.upload?.course.sent } ?? false
        default: true
        }
    }

    private func use(_ stream: InputStream, for request: URLRequest?, _ context: any StepContext) {
        nonisolated(unsafe) let stream = stream
        // A thread may still be reading one that serves once more.
        guard let request, TaskBody.announcedLength(of: request) == 0, stream !== spent?.stream else {
            return state = .found(stream)
        }
        let deadline = Deadline { [weak self, weak context] in
            if let self, let context { timeIsUp(for: stream, of: request, context) }
        }
        state = .findingEnd(stream, until: deadline)
        arm(deadline, request, context)
        StreamedBody.findEnd(of: stream, url: request.url) { [weak self, weak context] error in
            guard let self, let context else { return }
            context.owner.submit { self.foundEnd(of: stream, error, context) }
        }
    }

    private func arm(_ deadline: Deadline, _ request: URLRequest, _ context: any StepContext) {
        context.schedule(deadline, after: context.session.settings.idleTimeout(for: request))
    }

    /// A suspended task gets all of its time again when it is resumed.
    private func timeIsUp(for stream: InputStream, of request: URLRequest, _ context: any StepContext) {
        guard case .findingEnd(_, let deadline) = state, context.owner.isSuspended else {
            return foundEnd(of: stream, nil, context)
        }
        arm(deadline, request, context)
    }

    /// Only the first answer counts.
    private func foundEnd(of stream: InputStream, _ error: URLError?, _ context: any StepContext) {
        guard case .findingEnd(let current, let deadline) = state, current === stream else { return }
        context.cancel(deadline)
        state = error.map { .failed($0) } ?? .found(stream)
        context.proceed(self)
    }

    /// A thread that reads the stream closes it when its read returns.
    func stop(_ context: any StepContext) {
        if case .findingEnd(_, let deadline) = state { context.cancel(deadline) }
    }
}
