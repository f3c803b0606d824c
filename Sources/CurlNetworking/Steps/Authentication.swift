import CurlTransport
import Foundation

/// A task's authentication state; most tasks have none. Loop only.
struct Authentication {
    /// A credential for a space, and how it may be used.
    struct Use {
        var space: ProtectionSpace
        var credential: Credential
        /// Whether the session's other tasks may use it.
        var isShared: Bool
        /// The nonce that the task alone uses; nil for the session's. A credential that isn't shared always has one.
        var digest: DigestChallenge?
        var digestCount: UInt32 = 0
        /// Whether it is sent preemptively, or again because only its nonce may have been refused.
        var isAhead = false
        /// Whether the answer to the task's last challenge for the space was accepted.
        var isAccepted = false
        /// The URL that was challenged; nil for a credential of the session's.
        var url: URL?

        /// Whether nothing else may use its connection. Some servers authenticate connections even with Negotiate, of which libcurl knows
        /// nothing.
        var ownsConnection: Bool { space.scheme == .negotiate && !isShared }

        /// Whether it goes with CONNECT, and not with the request.
        func isForTunnel(of options: TransferOptions) -> Bool { space.party == .proxy && options.proxy.usesTunnel }

        /// Whether it may be sent with a request for `url` that hasn't been challenged.
        func extends(to url: URL) -> Bool {
            guard isForUser(of: url) else { return false }
            guard space.scheme == .basic, space.party == .server, let own = self.url else { return true }
            let path = ProtectionSpaces.path(of: url)
            return path == ProtectionSpaces.path(of: own)
                || ProtectionSpaces.path(path, isBelow: ProtectionSpaces.basicPrefix(at: own))
        }

        /// Whether it may be sent with a request for `url`, if that names a user: only as that user, or if it was chosen for a URL that
        /// names the same one.
        func isForUser(of url: URL) -> Bool {
            space.party == .proxy || url.credential == self.url?.credential || url.admits(credential)
        }
    }

    /// What a request was sent with.
    struct Sent {
        var use: Use
        /// The challenge that it answers, with the nonce that was used.
        var digest: DigestChallenge?
        /// How often the nonce had been used, including this time.
        var digestCount: UInt32 = 0
    }

    /// The token with which the next request answers Negotiate.
    enum Token {
        case missing
        case underway(TokenRequest)
        /// Sent once, and only in its space.
        case made(String, ProtectionSpace)
    }

    /// A response with a challenge, waiting for its answer.
    struct Challenged {
        /// How far the search for a credential for the first offer has got.
        enum Progress {
            /// The offer has yet to be looked at.
            case trying
            /// Another task may be asking about the space.
            case waitingForTurn(ProtectionSpace)
            /// It is this task's turn: what it could propose is looked up.
            case lookingUp(ProtectionSpace)
            /// The default handling uses what is proposed. The sender retains the session as long as an answer is wanted.
            case asking(ProtectionSpace, proposed: Use?, ChallengeSender)
            /// There is a credential, and the token that goes with it is being made.
            case makingToken

            /// The space being asked about or waited for.
            var space: ProtectionSpace? {
                switch self {
                case .trying, .makingToken: nil
                case .waitingForTurn(let space), .lookingUp(let space), .asking(let space, _, _): space
                }
            }

            var sender: ChallengeSender? {
                if case .asking(_, _, let sender) = self { sender } else { nil }
            }
        }

        let held = HoldToken(keepsPlace: true)
        let request: URLRequest
        let challenger: Challenger
        let response: TaskResponse
        /// Whether it is the response to CONNECT, and that exchange is already over.
        var isInTunnel = false
        /// The offers still to be tried, strongest first.
        var offers: [AuthenticationOffer]
        var progress = Progress.trying

        /// Whether the request may be sent with a credential that wasn't chosen for it.
        func admits(_ credential: Credential) -> Bool {
            challenger.party == .proxy || request.url?.admits(credential) ?? true
        }
    }

    /// What a challenger has refused since it last accepted something, whatever realms it has named.
    private struct Refusals {
        /// How many answers to challenges it refused, except by Negotiate.
        var count = 0
        var credentials: [AuthenticationScheme: Set<Credential>] = [:]
    }

    /// What to send to each party from now on.
    var uses: [AuthenticationParty: Use] = [:]
    /// What the current request was sent with.
    var sent: [AuthenticationParty: Sent] = [:]
    /// Whether the URL's own user name and password were sent as Basic.
    var hasSentURLCredential = false
    /// The credential set for the proxy, which libcurl sends with CONNECT.
    var tunnelCredential: Credential?
    var challenged: Challenged?
    var token = Token.missing
    /// Spaces that the delegate has rejected, or for which no token can be made.
    var rejected: Set<ProtectionSpace> = []
    /// How many answers to challenges were refused.
    private var failures: [ProtectionSpace: Int] = [:]
    /// Rejected credentials, so that they aren't tried again.
    private var refused: [ProtectionSpace: Set<Credential>] = [:]
    /// By challenger, as a server can name another realm in each challenge, and would get the same password again and again.
    private var refusals: [Challenger: Refusals] = [:]
    /// The nonces of the newest challenge, one for each realm.
    private var offeredNonces: Set<ExactText> = []
    /// How many times in a row a new nonce was the only reason for another attempt with the same credential.
    private var renewals = 0

    func refuses(_ credential: Credential, _ space: ProtectionSpace) -> Bool {
        refused[space]?.contains(credential) == true
            || refusals[space.challenger]?.credentials[space.scheme]?.contains(credential) == true
    }

    /// How many answers to challenges were refused, in the space or by its challenger.
    func failureCount(in space: ProtectionSpace) -> Int {
        max(failures[space] ?? 0, refusals[space.challenger]?.count ?? 0)
    }

    /// Whether the space is one of Negotiate, and an answer in it was refused.
    func hasRefusedTicket(_ space: ProtectionSpace) -> Bool { space.scheme == .negotiate && failures[space] != nil }

    enum Verdict { case ask, sendAgain }

    /// What was sent has been challenged again. If the nonce was stale, the same credential is sent again; otherwise it is refused.
    mutating func noteRefusal(
        by challenger: Challenger,
        _ offers: [AuthenticationOffer],
        _ url: URL,
        _ spaces: inout ProtectionSpaces
    ) -> Verdict {
        let party = challenger.party
        let lastNonces = offeredNonces
        offeredNonces = Set(offers.lazy.compactMap(\.digest?.nonce))
        guard let sent = sent.removeValue(forKey: party) else {
            noteRefusalOfURLCredential(by: challenger, offers, url)
            if party == .proxy, let tunnelCredential {
                refusals[challenger, default: Refusals()].count += 1
                noteRefusal(of: tunnelCredential, by: challenger, offers)
            }
            return .ask
        }
        let space = sent.use.space
        guard space.challenger == challenger else { return .ask }
        let offer = offers.first { $0.scheme == space.scheme && $0.realm == space.realm }
        // If it was sent preemptively, or accepted before, it was for another space.
        if offer == nil, sent.use.isAhead || sent.use.isAccepted { return .ask }
        if let digest = offer?.digest, renewals < Self.maximumRenewals,
            Self.isStale(sent, digest, lastNonces, spaces[space])
        {
            renewals += 1
            renew(sent, digest, &spaces)
            return .sendAgain
        }
        // Another credential may meet a stale nonce as well.
        renewals = 0
        refused[space, default: []].insert(sent.use.credential)
        if !sent.use.isAhead {
            failures[space, default: 0] += 1
            // Negotiate shows a ticket, whatever the credential: no password was refused.
            if space.scheme != .negotiate { refusals[challenger, default: Refusals()].count += 1 }
            noteRefusal(of: sent.use.credential, by: challenger, space.scheme)
        }
        if sent.use.isShared { spaces.forget(sent.use.credential, for: space) }
        uses[party] = nil
        return .ask
    }

    /// A server that finds every nonce stale must be rejecting the credential for another reason.
    private static let maximumRenewals = 2

    /// Whether the nonce alone may be why `sent` was challenged with `digest`: because the challenger says so, because the nonce wasn't
    /// among `lastNonces`, those of its challenge before this one, or because it was also used by other requests, and the challenger may
    /// accept it only once, or only in order.
    private static func isStale(
        _ sent: Sent,
        _ digest: DigestChallenge,
        _ lastNonces: Set<ExactText>,
        _ known: ProtectionSpaces.Known?
    ) -> Bool {
        guard let nonce = sent.digest?.nonce, digest.nonce != nonce else { return false }
        if digest.isStale || !lastNonces.contains(nonce) || sent.digestCount > 1 { return true }
        guard sent.use.digest == nil, let known, known.credential == sent.use.credential else { return false }
        return known.digestCount > sent.digestCount || known.digest?.nonce != nonce
    }

    /// The session continues with the nonce of the task that first finds the old one stale. Other tasks, and one whose new nonce is also
    /// stale, continue with the one they were given: a server may accept each only once, or a few times.
    private mutating func renew(_ sent: Sent, _ digest: DigestChallenge, _ spaces: inout ProtectionSpaces) {
        var use = sent.use
        let sharedNonce = spaces[use.space]?.digest?.nonce
        if use.isShared, renewals == 1, sharedNonce == sent.digest?.nonce || sharedNonce == digest.nonce {
            use.digest = nil
            spaces.renew(use.space, digest)
        } else {
            (use.digest, use.digestCount) = (digest, 0)
        }
        uses[use.space.party] = use
    }

    private mutating func noteRefusalOfURLCredential(
        by challenger: Challenger,
        _ offers: [AuthenticationOffer],
        _ url: URL
    ) {
        guard challenger.party == .server, hasSentURLCredential, let credential = url.credential else { return }
        noteRefusal(of: credential, by: challenger, offers.filter { $0.scheme == .basic })
    }

    private mutating func noteRefusal(
        of credential: Credential,
        by challenger: Challenger,
        _ offers: [AuthenticationOffer]
    ) {
        for offer in offers {
            refused[challenger.space(of: offer), default: []].insert(credential)
            noteRefusal(of: credential, by: challenger, offer.scheme)
        }
    }

    private mutating func noteRefusal(
        of credential: Credential,
        by challenger: Challenger,
        _ scheme: AuthenticationScheme
    ) {
        refusals[challenger, default: Refusals()].credentials[scheme, default: []].insert(credential)
    }

    /// The head isn't a challenge by `parties`; those that can see the request may name the next nonce in it (RFC 7616 §3.5).
    mutating func noteSuccess(
        _ head: ResponseHead,
        of parties: Set<AuthenticationParty>,
        isTunnelled: Bool = false,
        _ spaces: inout ProtectionSpaces
    ) {
        // A proxy's acceptance doesn't give more attempts to a server whose nonces are always stale.
        if parties.contains(.server) { renewals = 0 }
        for (party, sent) in sent where parties.contains(party) {
            refusals[sent.use.space.challenger] = nil
            if uses[party]?.space == sent.use.space { uses[party]?.isAccepted = true }
            guard party == .server || !isTunnelled, var digest = sent.digest,
                let nonce = DigestChallenge.nextNonce(in: head, of: party)
            else { continue }
            digest.nonce = nonce
            if !sent.use.isShared {
                uses[party]?.digest = digest
                uses[party]?.digestCount = 0
            } else if spaces[sent.use.space]?.digest != nil {
                spaces.renew(sent.use.space, digest)
                uses[party]?.digest = nil
            }
        }
    }

    // MARK: - Requests

    var hasSentSomething: Bool { hasSentURLCredential || tunnelCredential != nil || !sent.isEmpty }

    /// Credentials for a proxy don't count: the response doesn't depend on them.
    var hasSentServerCredentials: Bool { hasSentURLCredential || sent[.server] != nil }

    /// Makes `options` send each party the credential known for it, and notes what is sent.
    mutating func apply(
        to options: inout TransferOptions,
        of request: URLRequest,
        through route: ProxyRoute,
        _ spaces: inout ProtectionSpaces
    ) {
        sent = [:]
        guard let url = request.url else { return }
        for party in [AuthenticationParty.server, .proxy] {
            guard let challenger = party.challenger(for: url, through: route) else { continue }
            if let use = uses[party], use.space.challenger == challenger, use.extends(to: url) {
                sent[party] = show(use, to: &options, &spaces)
            } else if !options.hasOwnCredentials(for: party),
                let space = spaces.space(for: url, of: challenger), let known = spaces[space],
                !refuses(known.credential, space)
            {
                let use = Use(space: space, credential: known.credential, isShared: true, isAhead: true)
                sent[party] = show(use, to: &options, &spaces)
            }
        }
        hasSentURLCredential = sent[.server] == nil && options.credentials != nil
        let isLeftToLibcurl =
            sent[.proxy] == nil && options.proxy.usesTunnel && !options.hasOwnCredentials(for: .proxy)
        tunnelCredential = isLeftToLibcurl ? route.server?.credential : nil
    }

    private mutating func show(
        _ use: Use,
        to options: inout TransferOptions,
        _ spaces: inout ProtectionSpaces
    ) -> Sent? {
        let (user, password) = (use.credential.user, use.credential.password)
        let field = use.space.party.answerField
        if use.space.party == .server { options.credentials = nil }
        switch use.space.scheme {
        case .digest:
            guard let (digest, count) = showDigest(use, to: &options, &spaces) else { return nil }
            return Sent(use: use, digest: digest, digestCount: count)
        case _ where use.isForTunnel(of: options):
            options.authenticateTunnel(use, digest: nil)
        case .basic:
            options.replaceHeaders([HeaderField(name: field, value: use.credential.basicToken)])
        case .ntlm where use.space.party == .proxy:
            options.removeHeader(field)
            options.proxy.authentication = ProxyAuthentication(.ntlm, user: user, password: password)
        case .ntlm:
            options.removeHeader(field)
            options.credentials = (user, password)
            options.connectionAuthentication = .ntlm
        case .negotiate:
            options.connectionAuthentication = .negotiate
            guard case .made(let token, use.space) = token else { return nil }
            self.token = .missing
            options.replaceHeaders([HeaderField(name: field, value: "Negotiate \(token)")])
        }
        return Sent(use: use)
    }

    /// Returns the challenge that it answers, and how often its nonce has been used now; nil if none is known.
    private mutating func showDigest(
        _ use: Use,
        to options: inout TransferOptions,
        _ spaces: inout ProtectionSpaces
    ) -> (DigestChallenge, count: UInt32)? {
        guard let digest = use.digest ?? spaces[use.space]?.digest else { return nil }
        let count = use.digest == nil ? spaces.countDigest(use.space) : use.digestCount &+ 1
        uses[use.space.party]?.digestCount = count
        let isForTunnel = use.isForTunnel(of: options)
        let request = DigestChallenge.Request(
            method: isForTunnel ? "CONNECT" : options.method,
            target: isForTunnel ? options.tunnelTarget ?? "" : options.target,
            count: count,
            clientNonce: DigestChallenge.makeClientNonce()
        )
        let (user, password) = (use.credential.user, use.credential.password)
        let value = digest.authorization(user: user, password: password, for: request)
        if isForTunnel {
            options.authenticateTunnel(use, digest: value)
        } else {
            options.replaceHeaders([HeaderField(name: use.space.party.answerField, value: value)])
        }
        return (digest, count)
    }
}

extension AuthenticationParty {
    /// The challenger behind a challenge in the response to a request for `url`.
    func challenger(for url: URL, through route: ProxyRoute) -> Challenger? {
        switch self {
        case .server: Origin(url).map { Challenger(party: .server, origin: $0) }
        case .proxy: route.server?.challenger
        }
    }
}

extension TransferOptions {
    fileprivate func hasOwnCredentials(for party: AuthenticationParty) -> Bool {
        if party == .server, credentials != nil { return true }
        let field = party.answerField
        return (headers + proxy.tunnelHeaders).contains { $0.isLine(ofField: field) }
    }
}

extension Credential {
    /// nil without a user name, and if it can't be passed to C.
    init?(_ object: URLCredential) {
        guard let user = object.user, let password = object.password, !(user + password).utf8.contains(0) else {
            return nil
        }
        self.init(user: user, password: password)
    }
}

extension URL {
    /// User name and password, decoded; nil if there are none.
    var credential: Credential? {
        guard let user = user(percentEncoded: false), !user.isEmpty else { return nil }
        return Credential(user: user, password: password(percentEncoded: false) ?? "")
    }

    /// Whether a request for this URL may be sent with a credential that wasn't chosen for it: if the URL names a user, only as that user,
    /// and with no password other than the URL's.
    fileprivate func admits(_ credential: Credential) -> Bool {
        guard let named = self.credential else { return true }
        return credential == named || named.password.isEmpty && credential.user.hasSameBytes(as: named.user)
    }
}
