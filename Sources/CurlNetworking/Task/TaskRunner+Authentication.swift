import Curl
import Foundation

// Challenges of servers and proxies (RFC 9110 §11): who answers them, and what goes out with the next request. Everything on
// the loop.

extension TaskRunner {
    // MARK: - The response's head

    /// The route of a response that is a challenge; nil where it is the task's own response. Within libcurl.
    func challenged(by head: ResponseHead, of exchange: Exchange) throws(URLError) -> Exchange.BodyRoute? {
        guard let party = AuthenticationParty(status: head.status) else {
            noteAuthenticated(exchange, head)
            return nil
        }
        let offers = AuthenticationOffer.offers(in: head, by: party)
        guard let url = exchange.request.url, let origin = party.origin(for: url, through: route), !offers.isEmpty,
            // Within a tunnel it is the server that speaks, who has no business with the proxy's credentials.
            party == .server || exchange.tunnel == nil
        else { return nil }
        try loading.budget.spendChallenge(at: url)
        var authentication = loading.authentication ?? Authentication()
        let verdict = session.authenticationDesk.withSpaces { spaces in
            authentication.noteRefusal(by: party, origin, offers, url, &spaces)
        }
        loading.authentication = authentication
        if verdict == .sendAgain {
            loading.nextRequest = exchange.request
            return .discard
        }
        let response = try httpResponse(head, to: exchange.request)
        let held = hold(head, of: exchange)
        loading.authentication?.challenged = Authentication.Challenged(
            held: held,
            party: party,
            origin: origin,
            response: response,
            offers: offers
        )
        // Outside of libcurl.
        submit { self.tryNextOffer(of: held) }
        return .hold
    }

    /// A response that is no challenge: what went out with its request is good.
    private func noteAuthenticated(_ exchange: Exchange, _ head: ResponseHead) {
        guard let sent = loading.authentication?.sent, let url = exchange.request.url else { return }
        session.authenticationDesk.withSpaces { _ = loading.authentication?.noteSuccess(head, &$0) }
        noteAnsweredByLibcurl(exchange, at: url)
        for (party, sent) in sent where sent.use.isShared {
            // On a tunnel that stood already, nothing was shown.
            if party == .proxy, let tunnel = exchange.tunnel, tunnel.head == nil { continue }
            let use = sent.use
            session.authenticationDesk.withSpaces { $0.prove(use.credential, for: use.space, at: url) }
            guard let object = use.toBeStored, let storage = session.settings.credentialStorage else { continue }
            loading.authentication?.uses[party]?.toBeStored = nil
            let space = use.space.forDelegate
            // Storages tell observers, and may be the program's own.
            DispatchQueue.global(qos: .utility).async { storage.store(object, for: space) }
        }
    }

    // MARK: - Finding a credential

    /// Tries the strongest offer that isn't rejected: with what is known already, else whoever has the turn asks.
    func tryNextOffer(of held: HeldResponse) {
        guard let challenged = loading.authentication?.challenged, challenged.held === held else { return }
        guard let offer = challenged.offers.first else { return deliverChallenge() }
        let space = challenged.space(of: offer)
        guard loading.authentication?.rejected.contains(space) == false else { return skipOffer() }
        loading.authentication?.challenged?.space = space
        if let use = knownUse(for: space) { return answer(with: use) }
        if session.authenticationDesk.enter(self, about: space) { lookUpProposal(for: space, held) }
    }

    /// Another task's question about the space was answered, perhaps for this one as well; if not, it is this one's turn.
    func askedElsewhere(about space: ProtectionSpace) {
        guard let challenged = loading.authentication?.challenged, challenged.space == space,
            session.authenticationDesk.isTurn(of: self, about: space)
        else { return }
        if let use = knownUse(for: space) { return answer(with: use) }
        lookUpProposal(for: space, challenged.held)
    }

    private func skipOffer() {
        guard let held = loading.authentication?.challenged?.held else { return }
        leaveDesk()
        loading.authentication?.challenged?.offers.removeFirst()
        tryNextOffer(of: held)
    }

    /// A credential that this task, or another one of the session, has for the space.
    private func knownUse(for space: ProtectionSpace) -> Authentication.Use? {
        guard let authentication = loading.authentication else { return nil }
        if let own = authentication.uses[space.party], own.space == space,
            !authentication.refuses(own.credential, space)
        {
            return own
        }
        guard let known = session.authenticationDesk.withSpaces({ $0[space] }),
            !authentication.refuses(known.credential, space)
        else { return nil }
        return Authentication.Use(space: space, credential: known.credential, isShared: true)
    }

    /// Finds what to propose: the URL's own credential, or the storage's default. The storage is asked off the loop.
    private func lookUpProposal(for space: ProtectionSpace, _ held: HeldResponse) {
        if space.party == .server, let credential = held.exchange.request.url?.credential,
            loading.authentication?.refuses(credential, space) == false
        {
            let object = URLCredential(user: credential.user, password: credential.password, persistence: .none)
            return ask(about: space, held, proposing: object)
        }
        if space.party == .proxy, let credential = route.server?.credential,
            loading.authentication?.refuses(credential, space) == false
        {
            // It was set for this proxy, and for this.
            return use(credential, nil, for: space)
        }
        guard let storage = session.settings.credentialStorage else { return ask(about: space, held, proposing: nil) }
        let forDelegate = space.forDelegate
        DispatchQueue.global(qos: .userInitiated).async {
            let proposal = storage.matchingDefault(for: forDelegate)
            self.submit { self.ask(about: space, held, proposing: proposal) }
        }
    }

    /// Asks whoever can be asked, or answers with the default handling.
    private func ask(about space: ProtectionSpace, _ held: HeldResponse, proposing object: URLCredential?) {
        guard let challenged = loading.authentication?.challenged, challenged.held === held, challenged.space == space
        else { return }
        var proposal: URLCredential?
        if let object, let credential = Credential(object), loading.authentication?.refuses(credential, space) == false
        {
            proposal = object
            loading.authentication?.challenged?.proposed = credential
        } else {
            loading.authentication?.challenged?.proposed = nil
        }
        let sender = ChallengeSender { [weak self] answer in
            guard let self else { return }
            submit { self.challengeAnswered(held, space, answer) }
        }
        guard delegates.session != nil else { return sender.answer(.performDefaultHandling, nil) }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space.forDelegate(inTunnel: challenged.isInTunnel),
            proposedCredential: proposal,
            previousFailureCount: loading.authentication?.failures[space] ?? 0,
            failureResponse: challenged.response,
            error: nil,
            sender: sender
        )
        let isOfConnection = space.scheme.isOfConnection
        post(.challenge(ChallengeQuestion(challenge: challenge, isOfConnection: isOfConnection, sender: sender)))
    }

    // MARK: - The answer

    private func challengeAnswered(_ held: HeldResponse, _ space: ProtectionSpace, _ answer: ChallengeAnswer) {
        guard let challenged = loading.authentication?.challenged, challenged.held === held, challenged.space == space
        else { return }
        switch answer.disposition {
        case .useCredential:
            guard let object = answer.credential, let credential = Credential(object),
                // What was refused will be refused again.
                loading.authentication?.refuses(credential, space) == false
            else { return deliverChallenge() }
            use(credential, object, for: space)
        case .performDefaultHandling:
            if let proposed = challenged.proposed { return use(proposed, nil, for: space) }
            // Of these a program often knows nothing, and the server offers Basic besides.
            if space.scheme.isOfConnection { skipOffer() } else { deliverChallenge() }
        case .cancelAuthenticationChallenge:
            let url = shared.withLock { $0.currentRequest?.url }
            finish(.failure(.cancelled(url)))
        case .rejectProtectionSpace:
            loading.authentication?.rejected.insert(space)
            skipOffer()
        }
    }

    /// `object` is the delegate's; nil for a proposal.
    private func use(_ credential: Credential, _ object: URLCredential?, for space: ProtectionSpace) {
        let isShared = object?.persistence != URLCredential.Persistence.none
        answer(
            with: Authentication.Use(
                space: space,
                credential: credential,
                toBeStored: isShared ? object : nil,
                isShared: isShared
            )
        )
    }

    /// Sends the request again with the credential.
    private func answer(with use: Authentication.Use) {
        guard let challenged = loading.authentication?.challenged, let offer = challenged.offers.first else { return }
        var use = use
        if use.isShared {
            session.authenticationDesk.withSpaces { $0.name(use.credential, for: use.space, digest: offer.digest) }
        } else {
            use.digest = offer.digest
            use.digestCount = 0
        }
        loading.authentication?.uses[use.space.party] = use
        leaveDesk()
        loading.authentication?.challenged = nil
        drop(challenged.held, for: challenged.held.exchange.request)
    }

    /// Nobody has a credential: the challenge is the task's response, or where there is no tunnel, its failure.
    private func deliverChallenge() {
        guard let challenged = loading.authentication?.challenged else { return }
        leaveDesk()
        loading.authentication?.challenged = nil
        if challenged.isInTunnel { giveUp(challenged.held) } else { deliver(challenged.held) }
    }

    /// The task is over: it asks nobody any more, and waits for nobody.
    func endAuthentication() {
        leaveDesk()
        loading.authentication = nil
    }

    private func leaveDesk() {
        guard let space = loading.authentication?.challenged?.space else { return }
        loading.authentication?.challenged?.space = nil
        session.authenticationDesk.leave(self, about: space)
    }

    // MARK: - Requests

    /// Whose credential the server is shown with `request`, as far as it comes from here.
    func credential(for request: URLRequest, hasOwnField: Bool) -> Credential? {
        guard let desk = session.existingAuthenticationDesk, let url = request.url, let origin = Origin(url) else {
            return nil
        }
        if let use = loading.authentication?.uses[.server], use.space.origin == origin { return use.credential }
        guard !hasOwnField, url.credential == nil else { return nil }
        return desk.withSpaces { spaces in
            spaces.space(for: url, at: origin, party: .server).flatMap { spaces[$0]?.credential }
        }
    }

    /// Has the next exchange show what is known for where it goes.
    func authenticate(_ options: inout TransferOptions, of request: URLRequest) {
        guard
            loading.authentication != nil || session.existingAuthenticationDesk != nil || options.credentials != nil
                || options.proxyAuthentication != nil
        else { return }
        var authentication = loading.authentication ?? Authentication()
        let route = route
        session.authenticationDesk.withSpaces { authentication.apply(to: &options, of: request, through: route, &$0) }
        guard loading.authentication != nil || authentication.hasSentSomething else { return }
        loading.authentication = authentication
    }
}
