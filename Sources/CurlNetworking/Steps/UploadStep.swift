import CurlTransport
import Foundation

/// Resumes an upload whose connection was lost, if the server has offered that, and continues one that was interrupted earlier. Only upload
/// tasks have it.
///
/// `@unchecked Sendable`: used on the loop only.
final class UploadStep: Step, @unchecked Sendable {
    /// The delay before the server is asked for its offset again.
    private enum Pause {
        case none
        /// Begins when the step is asked about the request.
        case due(Duration)
        /// Ends with the deadline.
        case underWay(Deadline)
    }

    /// The version that requests offer; nil to offer none.
    private let offered: UploadVersion?
    private(set) var course = UploadCourse()
    /// The upload's own request, as it was last sent.
    private(set) var creation: URLRequest?
    /// The request from which the protocol's requests are made: the one that led to the resource's current place. A redirect of one of them
    /// may have dropped some of its fields, or added others, which are for another server.
    private var base: URLRequest?
    /// What an earlier task left; nil for an upload that begins here.
    let resumption: UploadResumption?
    /// The file with the body, as it was when the upload began.
    private(set) var file: UploadedFile?
    /// Whether the upload has its final response: it can't be resumed, and nothing is kept for that.
    private(set) var isAnswered = false
    private var pause = Pause.none
    /// How much the server had when it was last asked for its offset, in bytes.
    private var lastOffset: Int64 = 0
    /// nil after progress: then the next attempt is made at once.
    private var backoff: RetryBackoff?

    init(offering offered: UploadVersion?, resuming resumption: UploadResumption? = nil) {
        self.offered = offered
        self.resumption = resumption
        file = resumption?.file
    }

    /// The part of the body that `request` sends.
    func part(of request: URLRequest) -> BodyPart {
        switch (course.stage, request.httpMethod) {
        case (.asking, "HEAD"): .none
        case (.appending(let rest), "PATCH"): .rest(rest)
        default: .whole
        }
    }

    /// See `UploadCourse.noteSent`.
    func noteSent(_ count: Int64) -> Int64? { course.noteSent(count) }

    // MARK: - Requests

    /// Begins by asking the server how much it has of what an earlier task sent.
    func beginResumed(_ context: any StepContext) throws(URLError) {
        guard case .plain = course.stage, creation == nil, let resumption, let request = context.request else { return }
        (creation, base) = (request, request)
        guard var resource = resumption.resource else { return }
        // `TransportSecurityStep` has already secured the upload's own URL.
        if let url = try context.session.settings.transportSecurity?.secured(resource.url) {
            resource = UploadResource(url: url, version: resource.version)
        }
        course.beginAsking(
            resource,
            acknowledged: resumption.acknowledged,
            sent: resumption.sent,
            length: resumption.length
        )
        context.replaceRequest(resource.offsetRequest(like: request))
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        switch pause {
        case .none:
            return .pass
        case .due(let delay):
            let deadline = Deadline { [unowned self, weak context] in
                pause = .none
                context?.proceed(self)
            }
            pause = .underWay(deadline)
            context.schedule(deadline, after: delay)
            return .wait
        case .underWay:
            return .wait
        }
    }

    func encode(_ plan: TransferPlan, _ context: any StepContext) throws(URLError) {
        switch part(of: plan.request) {
        case .whole:
            offer(plan, context)
        case .none:
            plan.options?.removeBodyFields(notOf: plan.request)
        case .rest:
            try check(context.steps.bodyFile?.description, for: plan.request)
            plan.options?.removeBodyFields(notOf: plan.request)
        }
    }

    /// Checks the file's current state, `now`, before a request with a rest of the body is sent.
    private func check(_ now: UploadedFile?, for request: URLRequest) throws(URLError) {
        do throws(URLError) {
            let description = "The upload's file has changed since its beginning was sent."
            try file?.check(now, for: request.url, otherwise: description)
        } catch {
            course.beginPlain()
            throw error
        }
    }

    private func offer(_ plan: TransferPlan, _ context: any StepContext) {
        (creation, base) = (plan.request, plan.request)
        guard let offered, !course.isRefusedAsWhole, let headers = plan.options?.headers, let body = plan.body,
            body.length != 0, Self.maySend(plan.request, headers),
            // Another body, with which the delegate answered a redirect, won't be there any more when its rest is due.
            context.owner.body.isKept(by: plan.request, after: context.steps.redirect)
        else {
            return course.beginPlain()
        }
        if let sent = context.steps.bodyFile?.description { file = sent }
        course.beginCreating(length: body.length, mayRepeat: plan.request.httpMethod == "PUT" || resumption != nil)
        plan.options?.replaceHeaders(offered.creationFields(length: body.length))
    }

    /// Whether the offer to resume may be added: not to methods that have their own meaning in the protocol, nor if the program speaks the
    /// protocol itself, with fields of the request or of the session.
    private static func maySend(_ request: URLRequest, _ lines: [String]) -> Bool {
        UploadResource.mayCreate(request.httpMethod ?? "GET")
            && !lines.contains(where: UploadField.isOfProtocol)
    }

    /// An informational response to the current request. Within libcurl.
    func receive(informational head: ResponseHead, to request: URLRequest) {
        if let url = request.url { course.note(head, to: url) }
    }

    // MARK: - Responses

    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict {
        let (url, resource) = (received.request.url, course.resource)
        let verdict = course.receive(received.head, to: url)
        // The resource has moved.
        if let resource, let new = course.resource, new != resource { base = received.request }
        switch verdict {
        case .deliver:
            return .pass
        case .deliverComplete(let length):
            context.noteUploaded(length)
            return .pass
        case .fail(let fault):
            throw fault.error(url)
        case .startOver:
            try context.budget.spendResumption(of: url, at: course.gained)
            return creation.map { .follow($0) } ?? .pass
        case .appendNext:
            try context.budget.spendPiece(of: url, at: course.gained)
            fallthrough
        case .append:
            return nextRequest.map { .follow($0) } ?? .pass
        case .ask:
            try context.budget.spendResumption(of: url, at: course.gained)
            delayNextOffsetRequest()
            return nextRequest.map { .follow($0) } ?? .pass
        }
    }

    /// After a lost connection or response, asks the server for its offset. Leaves to other steps what they handle: a kept connection that
    /// was dead before the request was sent, and an unreachable host if the task may wait for that.
    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard let error = ending.error, ending.head == nil, ending.isOfNetwork, !context.owner.isCancelled else {
            return .pass
        }
        let isUnreachable = ConnectivityPolicy.isLackOfConnectivity(error)
        if isUnreachable, context.steps.connectivity.waits { return .pass }
        if case .asking = course.stage, ending.loss != .none { return .pass }
        guard isUnreachable || error.code == .networkConnectionLost || ending.loss != .none else { return .pass }
        guard course.resource != nil,
            (try? context.budget.spendResumption(of: request.url, at: course.gained)) != nil,
            course.lost() == .ask, let next = nextRequest
        else { return .pass }
        delayNextOffsetRequest()
        return .follow(next)
    }

    /// The first request for the offset after progress is sent at once.
    private func delayNextOffsetRequest() {
        if hasProgressed { backoff = nil }
        lastOffset = course.acknowledged
        guard backoff != nil else { return backoff = RetryBackoff() }
        if let delay = backoff?.delay(jitter: .random(in: 0...1)) { pause = .due(delay) }
    }

    private var hasProgressed: Bool { course.acknowledged > lastOffset && course.acknowledged <= course.sent }

    /// The protocol's next request.
    private var nextRequest: URLRequest? {
        guard let base else { return nil }
        return switch course.stage {
        case .plain, .creating: nil
        case .asking: course.resource?.offsetRequest(like: base)
        case .appending(let rest): course.resource?.appendRequest(like: base, rest)
        }
    }

    func accept(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext) -> any Sink {
        let status = response.response.status ?? 200
        // The response to a HEAD, which only asks for the offset, isn't the upload's own.
        isAnswered =
            response.head?.isUploadComplete == true
            || response.request?.httpMethod != "HEAD" && Self.isLast(status)
        return sink
    }

    /// Whether a response with this status ends the upload for good. After others, from the server or an intermediary, the program may want
    /// to try again with the same resume data: later, or with other credentials.
    static func isLast(_ status: Int) -> Bool {
        (200..<300).contains(status)
            || (400..<500).contains(status) && ![401, 403, 407, 408, 425, 429].contains(status)
    }

    func stop(_ context: any StepContext) {
        if case .underWay(let deadline) = pause { context.cancel(deadline) }
        pause = .none
        guard isAnswered, let kept = resumption?.kept?.body else { return }
        let directory = context.session.settings.temporaryDirectory
        WorkThreads.files.run { kept.remove(in: directory) }
    }
}

extension TransferOptions {
    /// Removes the fields that describe the body of the upload's own request, if the session adds them: this request has another body, or
    /// none.
    fileprivate mutating func removeBodyFields(notOf request: URLRequest) {
        let own = Set((request.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() })
        headers.removeAll { line in
            let name = line.fieldName.lowercased()
            // Without a line for "Expect", libcurl adds its own.
            return name != "expect" && UploadField.describesBody(name) && !own.contains(name)
        }
    }
}

/// Makes a resumed upload begin with the request for the server's offset, unless a protocol class loads the upload, which gets the whole
/// body.
final class ResumedUploadStep: Step {
    private let upload: UploadStep

    init(_ upload: UploadStep) {
        self.upload = upload
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        do throws(URLError) {
            try upload.beginResumed(context)
            return .pass
        } catch {
            return .fail(error)
        }
    }
}
