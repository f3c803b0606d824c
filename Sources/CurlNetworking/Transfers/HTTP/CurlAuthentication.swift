import CurlTransport

/// An authentication by NTLM, which libcurl conducts itself, in several requests and responses on one connection. Only the last response is
/// the request's own. Loop only.
struct CurlAuthentication {
    private let schemes: [AuthenticationParty: AuthenticationScheme]
    /// The latest response to libcurl's own requests: the request's, if libcurl doesn't continue.
    private var latest: ResponseHead?
    private var rounds = 0

    init(of options: borrowing TransferOptions) {
        var schemes: [AuthenticationParty: AuthenticationScheme] = [:]
        if options.connectionAuthentication == .ntlm { schemes[.server] = .ntlm }
        if !options.proxy.usesTunnel, options.proxy.authentication?.scheme == .ntlm { schemes[.proxy] = .ntlm }
        self.schemes = schemes
    }

    /// A server and a proxy take one or two each. libcurl would continue for ever.
    var hasTooManyRounds: Bool { rounds > 10 }

    /// Whether libcurl answers the response with `head` itself, and another follows. The head is kept, in case none does.
    mutating func continues(after head: ResponseHead, onKeptConnection: @autoclosure () -> Bool) -> Bool {
        latest = nil
        guard !schemes.isEmpty,
            AuthenticationOffer.isHandshake(head, of: schemes, mayBegin: rounds == 0 && onKeptConnection())
        else { return false }
        rounds += 1
        guard !hasTooManyRounds else { return false }
        latest = head
        return true
    }

    /// The kept head: no other has followed, so it is the request's response.
    mutating func takeLatest() -> ResponseHead? { latest.take() }
}
