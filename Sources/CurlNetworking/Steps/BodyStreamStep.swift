import CurlTransport
import Foundation

/// Finds the stream for a request's body: a stream can be read only once.
///
/// The request's own stream serves the first transfer, as does that of a request with which the delegate or a protocol class replaced it;
/// for later transfers the delegate is asked. A streamed upload asks the delegate for the first one too, and falls back to the request's
/// own stream if the delegate has none. A protocol class that takes a request counts as a transfer which has read all of its stream.
///
/// `@unchecked Sendable`: used on the loop only.
final class BodyStreamStep: Step, @unchecked Sendable {
    private enum State {
        /// The next request needs one.
        case needed
        /// The delegate has been asked.
        case asking(Reader)
        /// libcurl reads nothing of a body of length 0, so the stream must be checked first: one that is silent until the deadline counts
        /// as empty.
        case findingEnd(InputStream, until: Deadline)
        case found(InputStream)
        case failed(URLError)
    }

    /// Who reads the stream that the delegate is asked for.
    private enum Reader {
        case transfer
        /// Called with what was found.
        case protocolClass((Result<InputStream?, URLError>) -> Void)
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
        return spend(stream)
    }

    private func spend(_ stream: InputStream) -> InputStream {
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
        if let stream = ownStream(context) {
            use(stream, for: context.request, context)
            if case .found = state { return .pass }
            return .wait
        }
        ask(for: .transfer, context)
        return .wait
    }

    /// Finds the stream for a protocol class that takes the current request. `found` is called on the loop, at once or later, but not after
    /// the task's end. It gets nil if the request has no stream, and if there is none for the first request of a streamed upload: the class
    /// has to deal with that.
    func findForClass(_ context: any StepContext, found: @escaping (Result<InputStream?, URLError>) -> Void) {
        offset = 0
        guard sendsStream(context) else { return found(.success(nil)) }
        if let stream = ownStream(context) { return found(.success(spend(stream))) }
        ask(for: .protocolClass(found), context)
    }

    private func ask(for reader: Reader, _ context: any StepContext) {
        state = .asking(reader)
        context.owner.ask(
            .bodyStream(from: offset) { [weak self, weak context] stream in
                guard let self, let context else { return }
                nonisolated(unsafe) let stream = stream
                context.owner.submit { self.arrived(stream, context) }
            }
        )
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

    /// The request's stream, if it may be used without asking.
    private func ownStream(_ context: any StepContext) -> InputStream? {
        context.owner.body.isStreamedUpload ? nil : unspentStream(of: context.request, context)
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
    private func arrived(_ offered: InputStream?, _ context: any StepContext) {
        guard case .asking(let reader) = state, !context.isOver else { return }
        switch (reader, choice(offered, context)) {
        case (.transfer, .success(let stream)):
            use(stream, for: context.request, context)
            if case .found = state { context.proceed(self) }
        case (.transfer, .failure(let error)):
            state = .failed(error)
            context.proceed(self)
        case (.protocolClass(let found), .success(let stream)):
            found(.success(spend(stream)))
        case (.protocolClass(let found), .failure(let error)):
            state = .needed
            found(offered == nil && spent == nil ? .success(nil) : .failure(error))
        }
    }

    /// The stream that the delegate has offered, or else one that the task still has.
    private func choice(_ offered: InputStream?, _ context: any StepContext) -> Result<InputStream, URLError> {
        // Sending the same one again would send an empty body.
        let rest = part(of: context.request, context).rest
        if let stream = offered ?? unspentStream(of: context.request, context) ?? unread,
            stream !== spent?.stream || stream === unread, canSend(stream, as: rest, context)
        {
            return .success(stream)
        }
        if let loss = context.steps.replay?.lossOfResponse { return .failure(loss) }
        let description =
            rest.map { "The upload can't be resumed: there is no stream with its body from byte \($0.offset) on." }
            ?? "There is no stream with the request's body, or none that has not been read from."
        return .failure(URLError(.requestBodyStreamExhausted, url: context.request?.url, description))
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
