import Foundation

/// Lets a program's own protocol classes load a request instead of the network. The requests by which the session resumes an upload aren't
/// the program's, and are offered to no class.
///
/// `@unchecked Sendable`: used on the loop only.
final class ProtocolClassStep: Step, @unchecked Sendable {
    private weak var context: (any StepContext)?
    /// The redirect that a class last reported; nil once the network has the task's request.
    private var reported: (source: URL?, target: URL?)?

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        guard attempt == .first, let task = context.owner.task, let request = context.request,
            context.part(of: request) == .whole
        else { return .pass }
        let settings = context.session.settings
        let classes = settings.consultsRegisteredProtocols ? URLProtocol.registeredClasses : settings.protocolClasses
        guard !classes.isEmpty else { return .pass }
        // The class gets a stream of the file.
        let body = context.owner.body
        if let file = body.file, body.isKept(by: request, after: context.steps.redirect),
            let refusal = ReadableFile.refusal(of: file, for: request.url)
        {
            return .fail(refusal)
        }
        self.context = context
        let demand = CacheStep.demand(of: request, context)
        let cache = demand == nil || demand?.reading == .nothing ? nil : settings.cache
        return .load(
            ProtocolTransfer(
                classes,
                for: task,
                cache: cache,
                loop: context.pool.loop,
                delegate: context,
                reporter: self
            )
        )
    }
}

extension ProtocolClassStep: ProtocolReporter {
    func completeRequest(_ completion: @escaping @Sendable (ProtocolRequest) -> Void) {
        guard let context, let request = context.request else { return }
        let keepsCredentials = context.mayCarrySessionCredentials(request)
        let additional = context.session.settings.additionalHeaders(withCredentials: keepsCredentials)
        let complete: @Sendable (String?) -> Void = { field in
            completion(ProtocolRequest(request, additional: additional, cookies: field))
        }
        guard let cookies = context.steps.cookies else { return complete(nil) }
        cookies.find(for: request, context, complete)
    }

    func changeRequest(to request: URLRequest) {
        context?.replaceRequest(request)
    }

    func decline(_ plain: URLRequest?) {
        guard let context else { return }
        if let plain { context.replaceRequest(plain) }
        if let error = refusal(of: context.request, context) { return context.fail(error) }
        context.decline(self)
    }

    /// Why the network isn't allowed to load `request`, to which a class's redirect led. A delegate may choose any other destination
    /// instead.
    private func refusal(of request: URLRequest?, _ context: any StepContext) -> URLError? {
        guard let reported = reported.take(), let url = request?.url, let target = reported.target,
            RedirectPolicy.isSamePlace(url, target)
        else { return nil }
        return RedirectPolicy.refusal(of: url, from: reported.source) { context.unixSocket(for: $0) }
    }

    /// The request already has its cookies. The class has to judge a response that a program stored.
    func answers(_ stored: StoredResponse, to request: URLRequest) -> Bool {
        guard let context else { return false }
        guard let variant = stored.variant else { return true }
        let sent = SentFields(request, cookies: nil, context)
        return CacheVariant.matches(stored.head, stored: variant, value: sent.value)
    }

    /// The class gets a stream that nobody has read.
    func accept(start: @escaping () -> Void) {
        guard let context, let step = context.steps.bodyStream else { return start() }
        step.findForClass(context) { [weak self] found in
            guard let context = self?.context else { return }
            switch found {
            case .success(let stream):
                if let stream, var request = context.request, request.httpBodyStream !== stream {
                    request.httpBodyStream = stream
                    context.replaceRequest(request)
                }
                start()
            case .failure(let error):
                context.fail(error)
            }
        }
    }

    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse) {
        reported = (old?.url, request.url)
        context?.redirect(to: request, from: old, by: response, self)
    }

    func challenge(_ challenge: URLAuthenticationChallenge, answerTo sender: ChallengeSender) {
        guard let context, context.owner.delegates.base != nil else {
            return sender.answer(.performDefaultHandling, nil)
        }
        context.owner.ask(.challenge(ChallengeQuestion(reported: challenge, sender: sender)))
    }

    func challengeEnded(_ disposition: URLSession.AuthChallengeDisposition?) {
        guard let context else { return }
        if disposition == .cancelAuthenticationChallenge {
            context.fail(.cancelled(context.request?.url))
        } else {
            context.rearmClocks()
        }
    }
}
