import Foundation

/// A challenge on its way from an agent to the attached program.
struct ChallengeQuery: Codable, Sendable {
    var host: String
    var port: Int
    var scheme: String?
    var realm: String?
    var method: String
    var isProxy: Bool
    var proxyType: String?
    var previousFailureCount: Int
    /// The server's certificate and its verification.
    var trust: ServerTrust?
    /// The authorities whose client certificates a server accepts.
    var authorities: [Data]?
    /// The response with the challenge.
    var response: ResponseDescription?
    /// Whether the session's delegate is asked rather than the task's.
    var isOfConnection: Bool

    init(_ challenge: URLAuthenticationChallenge, isOfConnection: Bool) {
        let space = challenge.protectionSpace
        host = space.host
        port = space.port
        scheme = space.protocol
        realm = space.realm
        method = space.authenticationMethod
        isProxy = space.isProxy()
        proxyType = space.proxyType
        previousFailureCount = challenge.previousFailureCount
        trust = space.serverTrust
        authorities = space.distinguishedNames
        response = ResponseDescription(challenge.failureResponse)
        self.isOfConnection = isOfConnection
    }

    init(_ challenge: URLAuthenticationChallenge) {
        self.init(challenge, isOfConnection: ChallengeQuestion.isOfConnection(challenge))
    }

    /// Whether `request` goes to the server that asks.
    func isAbout(_ request: URLRequest?) -> Bool {
        guard let url = request?.url, let origin = Origin(url) ?? Origin.ofFTP(url) else { return false }
        return origin.host == host && origin.port == port
    }

    var space: URLProtectionSpace {
        if let origin = URL(string: "https://\(host.contains(":") ? "[\(host)]" : host):\(port)").flatMap(Origin.init) {
            if let trust { return HandshakeSpace(trust, at: origin) }
            if let authorities { return HandshakeSpace(authorities: authorities, at: origin) }
        }
        guard isProxy else {
            return URLProtectionSpace(
                host: host,
                port: port,
                protocol: scheme,
                realm: realm,
                authenticationMethod: method
            )
        }
        return URLProtectionSpace(
            proxyHost: host,
            port: port,
            type: proxyType,
            realm: realm,
            authenticationMethod: method
        )
    }

    /// What a credential is for.
    struct Place: Hashable {
        var host: String
        var port: Int
        var scheme: String?
        var realm: ExactText?
        var method: String
        var isProxy: Bool
        var proxyType: String?
    }

    var place: Place {
        Place(
            host: host,
            port: port,
            scheme: scheme,
            realm: realm.map { ExactText($0) },
            method: method,
            isProxy: isProxy,
            proxyType: proxyType
        )
    }

    /// Whether it is about the server's certificate or the client's.
    var isOfHandshake: Bool { trust != nil || authorities != nil }

    /// Whether a storage's default credential may be proposed for it.
    var admitsProposal: Bool { !isOfHandshake && previousFailureCount == 0 }

    func challenge(proposing credential: URLCredential?, sender: ChallengeSender) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: credential,
            previousFailureCount: previousFailureCount,
            failureResponse: response?.response,
            error: nil,
            sender: sender
        )
    }
}

/// The answer.
struct ChallengeReply: Codable, Sendable {
    enum Credential: Codable, Sendable {
        /// `isForTask` is whether only the challenge's task may use it; nil for no.
        case password(user: String, password: String, isForTask: Bool? = nil)
        case trust(ServerTrust)
        case identity(TLSIdentity)

        init?(_ credential: URLCredential) {
            if let trust = credential.trust {
                self = .trust(trust)
            } else if let identity = credential.identity {
                self = .identity(identity)
            } else if let user = credential.user {
                let isForTask = credential.persistence == .none
                self = .password(user: user, password: credential.password ?? "", isForTask: isForTask ? true : nil)
            } else {
                return nil
            }
        }

        var credential: URLCredential {
            switch self {
            case .password(let user, let password, let isForTask):
                URLCredential(user: user, password: password, persistence: isForTask == true ? .none : .forSession)
            case .trust(let trust): URLCredential(trust: trust)
            case .identity(let identity): URLCredential(identity: identity)
            }
        }
    }

    enum Disposition: String, Codable, Sendable {
        case useCredential, performDefaultHandling, cancel, reject
    }

    var disposition: Disposition
    var credential: Credential?
    /// Whether a delegate of the program implements a method for challenges. If none does, asking again is pointless.
    var isOfDelegate: Bool

    init(_ answer: ChallengeAnswer) {
        disposition =
            switch answer.disposition {
            case .useCredential: .useCredential
            case .performDefaultHandling: .performDefaultHandling
            case .cancelAuthenticationChallenge: .cancel
            case .rejectProtectionSpace: .reject
            }
        credential = answer.credential.flatMap(Credential.init)
        isOfDelegate = answer.answerer != .neither
    }

    /// Whether it is a credential for the challenge's task alone.
    var isForTask: Bool {
        guard case .password(_, _, let isForTask) = credential else { return false }
        return isForTask == true
    }

    var answer: (URLSession.AuthChallengeDisposition, URLCredential?) {
        switch disposition {
        case .useCredential: (.useCredential, credential?.credential)
        case .performDefaultHandling: (.performDefaultHandling, nil)
        case .cancel: (.cancelAuthenticationChallenge, nil)
        case .reject: (.rejectProtectionSpace, nil)
        }
    }
}
