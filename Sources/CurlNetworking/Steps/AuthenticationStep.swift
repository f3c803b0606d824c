import CurlTransport
import Foundation

/// Challenges of servers and proxies (RFC 9110 §11): answers them, and adds credentials to the next request.
///
/// `@unchecked Sendable`: used on the loop only, except for `context`, which is set before another thread may look at it.
final class AuthenticationStep: Step, AuthenticationWaiter, @unchecked Sendable {
    /// nil for a task without authentication so far. Unchecked for the reason given in `Loader`.
    @exclusivity(unchecked) private var state: Authentication?
    /// Set while the task waits for its turn to ask.
    private weak var context: (any StepContext)?
    /// Whether libcurl doesn't speak HTTP on the connection, and so can't do a handshake that authenticates it.
    private let isForChannel: Bool
    private let tokens: TokenRequest.Source

    init(isForChannel: Bool = false, tokens: @escaping TokenRequest.Source = TokenRequest.kerberos) {
        self.isForChannel = isForChannel
        self.tokens = tokens
    }

    // MARK: - Requests

    /// Whether the current request was sent with credentials for its server.
    var hasShownServerCredentials: Bool { state?.hasSentServerCredentials ?? false }

    /// The credential that the current request was sent with, as far as it comes from this step.
    var sentCredential: Credential? { state?.sent[.server]?.use.credential }

    /// The credential that `request` would be sent to the server with, as far as it comes from this step.
    func credential(for request: URLRequest, hasOwnField: Bool, _ context: any StepContext) -> Credential? {
        use(for: request, hasOwnField: hasOwnField, context)?.credential
    }

    private func use(
        for request: URLRequest,
        hasOwnField: Bool,
        _ context: any StepContext
    ) -> Authentication.Use? {
        guard let coordinator = context.session.existingAuthenticationCoordinator, let url = request.url,
            let origin = Origin(url)
        else { return nil }
        if let use = state?.uses[.server], use.space.origin == origin, use.extends(to: url) { return use }
        guard !hasOwnField, url.credential == nil else { return nil }
        return coordinator.withSpaces { spaces in
            guard let space = spaces.space(for: url, of: Challenger(party: .server, origin: origin)),
                let known = spaces[space]
            else { return nil }
            return Authentication.Use(space: space, credential: known.credential, isShared: true)
        }
    }

    /// Makes the token of a request that is sent with Negotiate: it has its place, and tokens don't last long.
    func complete(_ context: any StepContext) -> CompletionVerdict {
        guard !isForChannel, let request = context.request else { return .pass }
        let hasOwnField = request.value(forHTTPHeaderField: "Authorization") != nil
        guard let use = use(for: request, hasOwnField: hasOwnField, context), use.space.scheme == .negotiate,
            state?.rejected.contains(use.space) != true
        else { return .pass }
        switch state?.token {
        case .made(_, use.space): return .pass
        case .underway: return .wait
        case .missing, .made, nil: break
        }
        makeToken(for: use, request, context) { _ in context.proceed(self) }
        return .wait
    }

    /// Adds the credentials known for the request's destination.
    func encode(_ plan: TransferPlan, _ context: any StepContext) {
        let mayShowSomething =
            state != nil || plan.options?.credentials != nil || plan.options?.proxy.authentication != nil
            || context.session.existingAuthenticationCoordinator != nil
        guard mayShowSomething, var options = plan.options else { return }
        var authentication = state ?? Authentication()
        let route = context.route
        context.session.authenticationCoordinator.withSpaces {
            authentication.apply(to: &options, of: plan.request, through: route, &$0)
        }
        if authentication.sent[.server]?.use.ownsConnection ?? false {
            plan.connection = .own
            options.closing = .always
        }
        plan.options = options
        if state != nil || authentication.hasSentSomething { state = authentication }
    }

    // MARK: - Responses

    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict {
        noteAccepted(received, context)
        guard let party = AuthenticationParty(status: received.head.status) else { return .pass }
        let request = received.request
        // An HTTP proxy's response for an FTP server: no credential for it would ever be sent.
        if request.url.flatMap(Scheme.init)?.isFTP ?? false { return .pass }
        let offers = AuthenticationOffer.offers(in: received.head, by: party)
            .filter { !isForChannel || !$0.scheme.isOfConnection }
        guard let url = request.url, let challenger = party.challenger(for: url, through: context.route),
            !offers.isEmpty,
            // Through a tunnel it is the server that responds, which must not get the proxy's credentials.
            party == .server || received.tunnel == nil
        else { return .pass }
        try context.budget.spendChallenge(at: url)
        let challenged = Authentication.Challenged(
            request: request,
            challenger: challenger,
            response: TaskResponse(received.head, at: url),
            offers: offers
        )
        guard let held = hold(challenged, at: url, context) else { return .follow(request) }
        return .hold(held)
    }

    /// Looks for a credential if the proxy has refused a tunnel for lack of one.
    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        guard ending.error != nil, let head = ending.refusal, head.status == 407, let url = request.url,
            let challenger = context.route.server?.challenger
        else { return .pass }
        let offers = AuthenticationOffer.offers(in: head, by: .proxy)
        guard !offers.isEmpty else { return .pass }
        do throws(URLError) {
            try context.budget.spendChallenge(at: url)
        } catch {
            return .fail(error)
        }
        // The connection may have been closed before libcurl could answer with the proxy's credential.
        if !ending.refusesAnswer { state?.tunnelCredential = nil }
        let challenged = Authentication.Challenged(
            request: request,
            challenger: challenger,
            response: TaskResponse(head, at: url),
            isInTunnel: true,
            offers: offers
        )
        guard let held = hold(challenged, at: url, context) else { return .follow(request) }
        return .hold(held)
    }

    /// Notes what the challenge to a request for `url` refuses, and looks for another credential once libcurl has returned. nil if the
    /// request is to be sent again at once, as only the nonce was stale.
    private func hold(
        _ challenged: Authentication.Challenged,
        at url: URL,
        _ context: any StepContext
    ) -> HoldToken? {
        var authentication = state ?? Authentication()
        let verdict = context.session.authenticationCoordinator.withSpaces {
            authentication.noteRefusal(by: challenged.challenger, challenged.offers, url, &$0)
        }
        state = authentication
        guard verdict == .ask else { return nil }
        state?.challenged = challenged
        let held = challenged.held
        context.owner.submit { self.tryNextOffer(of: held, context) }
        return held
    }

    /// Whose credentials a response shows to be valid: a server's challenge means that the proxy has let the request through.
    private static func parties(acceptedBy received: ReceivedHead) -> Set<AuthenticationParty> {
        switch AuthenticationParty(status: received.head.status) {
        case nil: [.server, .proxy]
        case .server: [.proxy]
        // Through a tunnel it is the server that responds.
        case .proxy: received.tunnel == nil ? [] : [.proxy]
        }
    }

    /// Remembers the credentials that were sent with the request and are valid.
    private func noteAccepted(_ received: ReceivedHead, _ context: any StepContext) {
        guard let sent = state?.sent, let url = received.request.url else { return }
        let parties = Self.parties(acceptedBy: received)
        guard !parties.isEmpty else { return }
        let coordinator = context.session.authenticationCoordinator
        let isTunnelled = received.tunnel != nil
        coordinator.withSpaces {
            _ = state?.noteSuccess(received.head, of: parties, isTunnelled: isTunnelled, &$0)
        }
        for (party, sent) in sent where parties.contains(party) {
            // Already noted when the tunnel opened; for one that existed before, nothing was sent.
            if party == .proxy, received.tunnel != nil { continue }
            noteAccepted(sent.use, at: url, context)
        }
    }

    /// The proxy has opened a tunnel: what was sent for it is valid. The tasks that wait for its connection need the same credential, or
    /// libcurl wouldn't let them share it. Within libcurl.
    func noteOpened(_ tunnel: ProxyTunnel, for request: URLRequest, _ context: any StepContext) {
        guard let url = request.url else { return }
        noteAnsweredByLibcurl(tunnel, at: url, context)
        guard let sent = state?.sent[.proxy] else { return }
        if let head = tunnel.head {
            context.session.authenticationCoordinator.withSpaces { _ = state?.noteSuccess(head, of: [.proxy], &$0) }
        }
        noteAccepted(sent.use, at: url, context)
    }

    private func noteAccepted(_ use: Authentication.Use, at url: URL, _ context: any StepContext) {
        guard use.isShared else { return }
        let coordinator = context.session.authenticationCoordinator
        let object = coordinator.withSpaces { $0.noteAcceptance(of: use.credential, for: use.space, at: url) }
        guard let object, let storage = context.session.settings.credentialStorage else { return }
        let space = use.space.forDelegate
        // Storages notify observers, and may be the program's own.
        WorkThreads.blocking.run { storage.store(object, for: space) }
    }

    /// If libcurl has answered the proxy's challenge by itself, with Basic, later tunnels send that preemptively, which saves a round trip.
    private func noteAnsweredByLibcurl(_ tunnel: ProxyTunnel, at url: URL, _ context: any StepContext) {
        guard let credential = state?.tunnelCredential, let challenge = tunnel.challenge,
            let challenger = context.route.server?.challenger,
            let offer = AuthenticationOffer.offers(in: challenge, by: .proxy).first, offer.scheme == .basic
        else { return }
        let space = challenger.space(of: offer)
        context.session.authenticationCoordinator.withSpaces { spaces in
            spaces.set(credential, for: space, digest: nil)
            spaces.noteAcceptance(of: credential, for: space, at: url)
        }
    }

    // MARK: - Finding a credential

    /// Tries the strongest offer that isn't rejected: with a known credential, or else by asking when it is its turn.
    private func tryNextOffer(of held: HoldToken, _ context: any StepContext) {
        guard let challenged = state?.challenged, challenged.held === held else { return }
        guard let offer = challenged.offers.first else { return deliverChallenge(context) }
        let space = challenged.challenger.space(of: offer)
        guard state?.rejected.contains(space) == false else { return skipOffer(context) }
        // Another credential would show the same ticket.
        if challenged.offers.count > 1, state?.hasRefusedTicket(space) == true { return skipOffer(context) }
        state?.challenged?.progress = .waitingForTurn(space)
        if let use = knownUse(for: space, context) { return answer(with: use, context) }
        self.context = context
        if context.session.authenticationCoordinator.enter(self, about: space) {
            lookUpProposal(for: space, challenged, context)
        }
    }

    /// Another task's question about the space was answered, perhaps also for this one; if not, it is this one's turn. Any thread.
    func turnCame(about space: ProtectionSpace) {
        guard let context else { return }
        context.owner.submit { self.askedElsewhere(about: space, context) }
    }

    private func askedElsewhere(about space: ProtectionSpace, _ context: any StepContext) {
        guard let challenged = state?.challenged, case .waitingForTurn(space) = challenged.progress,
            context.session.authenticationCoordinator.isTurn(of: self, about: space)
        else { return }
        if let use = knownUse(for: space, context) { return answer(with: use, context) }
        lookUpProposal(for: space, challenged, context)
    }

    private func skipOffer(_ context: any StepContext) {
        guard let held = state?.challenged?.held else { return }
        leaveCoordinator(context)
        state?.challenged?.offers.removeFirst()
        tryNextOffer(of: held, context)
    }

    /// A credential that this task, or another of the session, has for the space.
    private func knownUse(for space: ProtectionSpace, _ context: any StepContext) -> Authentication.Use? {
        guard let state, let challenged = state.challenged else { return nil }
        if let own = state.uses[space.party], own.space == space, !state.refuses(own.credential, space),
            challenged.request.url.map({ own.isForUser(of: $0) }) ?? true
        {
            return own
        }
        guard let known = context.session.authenticationCoordinator.withSpaces({ $0[space] }),
            !state.refuses(known.credential, space), challenged.admits(known.credential)
        else { return nil }
        return Authentication.Use(space: space, credential: known.credential, isShared: true)
    }

    /// Finds a credential to propose: the URL's own, or the storage's default. The storage is queried off the loop.
    private func lookUpProposal(
        for space: ProtectionSpace,
        _ challenged: Authentication.Challenged,
        _ context: any StepContext
    ) {
        let held = challenged.held
        state?.challenged?.progress = .lookingUp(space)
        if space.party == .server, let credential = challenged.request.url?.credential,
            state?.refuses(credential, space) == false
        {
            let object = URLCredential(user: credential.user, password: credential.password, persistence: .none)
            return ask(about: space, held, proposing: object, context)
        }
        if let credential = space.configured, state?.refuses(credential, space) == false {
            // It was set for exactly this proxy.
            let use = Authentication.Use(space: space, credential: credential, isShared: true)
            return answer(with: use, context)
        }
        guard let storage = context.session.settings.credentialStorage else {
            return ask(about: space, held, proposing: nil, context)
        }
        let forDelegate = space.forDelegate
        WorkThreads.blocking.run {
            let proposal = storage.matchingDefault(for: forDelegate)
            context.owner.submit { self.ask(about: space, held, proposing: proposal, context) }
        }
    }

    /// Asks the delegate, or applies the default handling if there is none to ask.
    private func ask(
        about space: ProtectionSpace,
        _ held: HoldToken,
        proposing object: URLCredential?,
        _ context: any StepContext
    ) {
        guard let challenged = state?.challenged, challenged.held === held,
            case .lookingUp(space) = challenged.progress
        else { return }
        let proposed = object.flatMap { use(of: $0, for: space) }
            .flatMap { challenged.admits($0.credential) ? $0 : nil }
        let sender = ChallengeSender { [weak self, weak context] answer in
            guard let self, let context else { return }
            context.owner.submit { self.answered(held, space, answer, context) }
        }
        state?.challenged?.progress = .asking(space, proposed: proposed, sender)
        guard context.owner.delegates.base != nil else { return sender.answer(.performDefaultHandling, nil) }
        let proposal = proposed == nil ? nil : object
        context.owner.ask(.challenge(question(about: space, challenged, proposing: proposal, sender)))
    }

    /// How to use a credential of the delegate's or the storage's; nil if it was refused, and so would be again, or can't be used at all.
    private func use(of object: URLCredential, for space: ProtectionSpace) -> Authentication.Use? {
        guard let credential = Credential(object), state?.refuses(credential, space) == false else { return nil }
        return Authentication.Use(space: space, credential: credential, isShared: object.persistence != .none)
    }

    private func question(
        about space: ProtectionSpace,
        _ challenged: Authentication.Challenged,
        proposing proposal: URLCredential?,
        _ sender: ChallengeSender
    ) -> ChallengeQuestion {
        let (isInTunnel, response) = (challenged.isInTunnel, challenged.response)
        let failureCount = state?.failureCount(in: space) ?? 0
        return ChallengeQuestion(
            challenge: URLAuthenticationChallenge(
                protectionSpace: space.forDelegate(inTunnel: isInTunnel),
                proposedCredential: proposal,
                previousFailureCount: failureCount,
                failureResponse: response.object,
                error: nil,
                sender: sender
            ),
            isOfConnection: space.scheme.isOfConnection,
            sender: sender
        )
    }

    // MARK: - The answer

    private func answered(
        _ held: HoldToken,
        _ space: ProtectionSpace,
        _ answer: ChallengeAnswer,
        _ context: any StepContext
    ) {
        guard let challenged = state?.challenged, challenged.held === held,
            case .asking(space, let proposed, _) = challenged.progress
        else { return }
        switch answer.disposition {
        case .useCredential:
            guard let object = answer.credential else { return deliverChallenge(context) }
            guard let use = use(of: object, for: space) else { return giveUp(space.scheme, context) }
            self.answer(with: use, storing: use.isShared ? object : nil, context)
        case .performDefaultHandling:
            if let proposed { self.answer(with: proposed, context) } else { giveUp(space.scheme, context) }
        case .cancelAuthenticationChallenge:
            context.fail(.cancelled(context.request?.url))
        case .rejectProtectionSpace:
            state?.rejected.insert(space)
            skipOffer(context)
        }
    }

    /// There is no credential for a scheme. Programs often don't know the schemes of connections, and the challenger also offers Basic.
    private func giveUp(_ scheme: AuthenticationScheme, _ context: any StepContext) {
        if scheme.isOfConnection { skipOffer(context) } else { deliverChallenge(context) }
    }

    /// Sends the request again with the credential.
    ///
    /// - Parameter object: The delegate's, to be stored once it has been accepted.
    private func answer(with use: Authentication.Use, storing object: URLCredential? = nil, _ context: any StepContext)
    {
        guard let challenged = state?.challenged, let offer = challenged.offers.first else { return }
        var use = use
        (use.isAhead, use.isAccepted) = (false, false)
        use.url = challenged.request.url
        if use.isShared {
            context.session.authenticationCoordinator.withSpaces {
                $0.set(use.credential, for: use.space, digest: offer.digest, toBeStored: object)
            }
        } else {
            use.digest = offer.digest
            use.digestCount = 0
        }
        state?.uses[use.space.party] = use
        leaveCoordinator(context)
        guard use.space.scheme == .negotiate else { return sendAgain(context) }
        state?.challenged?.progress = .makingToken
        // While the response is held: without a token, another scheme may do, or it is the task's.
        makeToken(for: use, challenged.request, context) { isMade in
            guard self.state?.challenged?.held === challenged.held else { return }
            if isMade { self.sendAgain(context) } else { self.skipOffer(context) }
        }
    }

    private func sendAgain(_ context: any StepContext) {
        guard let challenged = state?.challenged else { return }
        state?.challenged = nil
        context.release(challenged.held, .follow(challenged.request))
    }

    /// Makes the token for a use of Negotiate's, and calls `completion` on the loop. If that isn't possible, the use is forgotten.
    private func makeToken(
        for use: Authentication.Use,
        _ request: URLRequest,
        _ context: any StepContext,
        _ completion: @escaping (_ isMade: Bool) -> Void
    ) {
        let making = TokenRequest(for: use.space.origin) { token in
            self.state?.token = token.map { .made($0, use.space) } ?? .missing
            if token == nil { self.forget(use, context) }
            completion(token != nil)
        }
        if state == nil { state = Authentication() }
        state?.token = .underway(making)
        making.start(from: tokens, within: context.session.settings.idleTimeout(for: request), context)
    }

    private func forget(_ use: Authentication.Use, _ context: any StepContext) {
        state?.uses[use.space.party] = nil
        state?.rejected.insert(use.space)
        guard use.isShared else { return }
        context.session.authenticationCoordinator.withSpaces { $0.forget(use.credential, for: use.space) }
    }

    /// There is no credential: the challenge becomes the task's response or, if it refused a tunnel, its failure.
    private func deliverChallenge(_ context: any StepContext) {
        guard let challenged = state?.challenged else { return }
        leaveCoordinator(context)
        state?.challenged = nil
        context.release(challenged.held, .pass)
    }

    func stop(_ context: any StepContext) {
        if case .underway(let making) = state?.token { making.stop(context) }
        let sender = state?.challenged?.progress.sender
        leaveCoordinator(context)
        sender?.withdraw()
        state = nil
    }

    private func leaveCoordinator(_ context: any StepContext) {
        guard let space = state?.challenged?.progress.space else { return }
        state?.challenged?.progress = .trying
        context.session.authenticationCoordinator.leave(self, about: space)
    }
}
