import Foundation

/// Lets a program's own protocol classes load a request instead of the network. The requests by which the session resumes an upload aren't the
/// program's, and are offered to no class.
///
/// `@unchecked Sendable`: used on the loop only.
final class ProtocolClassStep: Step, @unchecked Sendable {
    private weak var host: (any StepHost)?
    /// The redirect that a class has reported last; nil once the network has the task's request.
    private var reported: (source: URL?, target: URL?)?

    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict {
        guard attempt == .first, let task = host.owner.task, let request = host.request,
            host.steps.upload?.part(of: request) ?? .whole == .whole
        else { return .pass }
        let settings = host.session.settings
        let classes = settings.consultsRegisteredProtocols ? URLProtocol.registeredClasses : settings.protocolClasses
        guard !classes.isEmpty else { return .pass }
        // The class gets a stream of the file.
        if let file = host.owner.body.file, let refusal = ReadableFile.refusal(of: file, for: request.url) {
            return .fail(refusal)
        }
        self.host = host
        let demand = CacheStep.demand(of: request, host)
        let cache = demand == nil || demand?.reading == .nothing ? nil : settings.cache
        return .load(
            ProtocolTransfer(classes, for: task, cache: cache, loop: host.pool.loop, delegate: host, reporter: self)
        )
    }
}

extension ProtocolClassStep: ProtocolReporter {
    func completeRequest(_ completion: @escaping @Sendable (ProtocolRequest) -> Void) {
        guard let host, let request = host.request else { return }
        let keepsCredentials = host.mayCarrySessionCredentials(request)
        let additional = host.session.settings.additionalHeaders(withCredentials: keepsCredentials)
        let complete: @Sendable (String?) -> Void = { field in
            completion(ProtocolRequest(request, additional: additional, cookies: field))
        }
        guard let cookies = host.steps.cookies else { return complete(nil) }
        cookies.find(for: request, host, complete)
    }

    func changeRequest(to request: URLRequest) {
        host?.replaceRequest(request)
    }

    func decline(_ plain: URLRequest?) {
        guard let host else { return }
        if let plain { host.replaceRequest(plain) }
        if let error = refusal(of: host.request, host) { return host.fail(error) }
        host.decline(self)
    }

    /// Why the network isn't allowed to load `request`, which a class's redirect has led to. A delegate that has chosen another place may lead
    /// anywhere.
    private func refusal(of request: URLRequest?, _ host: any StepHost) -> URLError? {
        guard let reported = reported.take(), let url = request?.url, let target = reported.target,
            RedirectPolicy.isSamePlace(url, target)
        else { return nil }
        return RedirectPolicy.refusal(of: url, from: reported.source) { host.unixSocket(for: $0) }
    }

    /// The request has its cookies already. What a program has stored is the class's to judge.
    func answers(_ stored: StoredResponse, to request: URLRequest) -> Bool {
        guard let host else { return false }
        guard let variant = stored.variant else { return true }
        let sent = SentFields(request, cookies: nil, host)
        return CacheVariant.matches(stored.head, stored: variant, value: sent.value)
    }

    /// Asks the delegate for the body of a streamed upload; if it has none, the request's own is used, and if that is missing too, the
    /// class has to deal with it.
    func accept(start: @escaping () -> Void) {
        guard let host, case .stream = host.owner.body.source else { return start() }
        // It returns to this loop.
        nonisolated(unsafe) let start = start
        let owner = host.owner
        owner.ask(
            .bodyStream(from: 0) { stream in
                nonisolated(unsafe) let stream = stream
                owner.submit {
                    guard let host = self.host, !host.isOver else { return }
                    if let stream, var request = host.request {
                        request.httpBodyStream = stream
                        host.replaceRequest(request)
                    }
                    start()
                }
            }
        )
    }

    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse) {
        reported = (old?.url, request.url)
        host?.redirect(to: request, from: old, by: response, self)
    }

    func challenge(_ challenge: URLAuthenticationChallenge, answerTo sender: ChallengeSender) {
        guard let host, host.owner.delegates.session != nil else { return sender.answer(.performDefaultHandling, nil) }
        host.owner.ask(.challenge(ChallengeQuestion(reported: challenge, sender: sender)))
    }

    func challengeEnded(_ disposition: URLSession.AuthChallengeDisposition?) {
        guard let host else { return }
        if disposition == .cancelAuthenticationChallenge {
            host.fail(.cancelled(host.request?.url))
        } else {
            host.rearmClocks()
        }
    }
}
