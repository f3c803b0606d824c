import CCurlNetworkingLibcurl

/// A question that a handshake raises and that must be answered before it continues.
package enum HandshakeQuestion: Sendable, Hashable {
    /// The server presented `chain` (DER, its own certificate first); verification returned `result`, where 0 is success.
    case serverTrust(chain: [[UInt8]], result: Int, reason: String)
    /// The server requests a client certificate from one of these authorities (names in DER), or from any if the list is empty.
    case clientCertificate(authorities: [[UInt8]])
}

/// The decisions taken so far about an origin's handshakes.
package struct HandshakeDecisions: Sendable {
    /// In order of decision, each chain once.
    private var chains: [(digest: ChainDigest, trust: Trust)] = []
    package var identity = Identity.undecided

    /// Whether a chain is trusted without another question.
    package enum Trust: Sendable {
        /// Whatever verification says.
        case always
        /// If verification succeeds.
        case ifVerified
    }

    /// What the server is shown if it requests a certificate.
    package enum Identity: Sendable {
        /// The request raises a question.
        case undecided
        /// The certificate of the connection's settings.
        case configured
        /// This certificate, or none.
        case decided(ClientCertificate?)
    }

    /// More than this points to a problem at the other end; the oldest are asked about again.
    private static let maximumChains = 16

    package init() {}

    /// nil if nothing has been decided about `chain`, the certificates in DER.
    package func trust(in chain: [[UInt8]]) -> Trust? {
        guard !chains.isEmpty, let digest = ChainDigest(chain) else { return nil }
        return chains.first { $0.digest == digest }?.trust
    }

    /// A chain that is always trusted remains so.
    package mutating func note(_ trust: Trust, in chain: [[UInt8]]) {
        guard let digest = ChainDigest(chain) else { return }
        if let index = chains.firstIndex(where: { $0.digest == digest }) {
            if trust == .always { chains[index].trust = .always }
            return
        }
        chains.append((digest, trust))
        if chains.count > Self.maximumChains { chains.removeFirst() }
    }

    package var hasDecidedOnCertificate: Bool { if case .undecided = identity { false } else { true } }
}

/// Stops a transfer's handshake at a question that hasn't been decided yet, before any of the request is sent. The transfer fails,
/// `question` says why, and its owner starts another with the decision added.
///
/// It also verifies the host, in libcurl's place: otherwise a chain accepted although it names another host would still be refused.
/// Public-key pins are left to libcurl. Needs OpenSSL; see `CurlLibrary.decidesTrust`.
///
/// `@unchecked Sendable`: touched only on the loop; OpenSSL calls it within libcurl. Each connection's `SSL_CTX` retains it until that is
/// freed, since a server may renegotiate.
package final class HandshakeInquiry: @unchecked Sendable {
    private let name: CertificateName
    private let decisions: HandshakeDecisions
    private weak var easy: EasyHandle?
    /// libcurl's time of the last handshake when the current connection was set up: it changes when that connection's handshake is done.
    private var previousHandshake: Int64 = 0
    private var isClosed = false
    /// The failure of a handshake with a server whose certificate is for another host; nil leaves that to libcurl.
    private var mismatch: TransferFailure?
    /// Why the transfer has failed; nil for libcurl's own reason.
    private(set) var failure: TransferFailure?
    /// The question that stopped the handshake.
    package private(set) var question: HandshakeQuestion?

    /// - Parameter host: A name, or an address in its usual form, without brackets or zone.
    package init(host: String, decisions: HandshakeDecisions) {
        name = CertificateName(host: host)
        self.decisions = decisions
    }

    /// Asks nothing, and only ends handshakes with servers whose certificates are for another host: with the failure that libcurl
    /// has for the same after the handshake. Through a proxy's TLS, it would lose the reason.
    init(checking host: String) {
        name = CertificateName(host: host)
        var decisions = HandshakeDecisions()
        decisions.identity = .configured
        self.decisions = decisions
        isClosed = true
        var mismatch = TransferFailure.untrusted(name.mismatch, "")
        mismatch.text = "SSL: no alternative certificate subject name matches target host name '\(host)'"
        self.mismatch = mismatch
    }

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        self.easy = easy
        if case .decided(let certificate?) = decisions.identity { try certificate.apply(to: easy) }
        try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        // A resumed session was verified earlier, so no question would be raised.
        try easy.set(CURLOPT_SSL_SESSIONID_CACHE, false)
        try easy.ask(self)
    }

    /// Called when the transfer is over: questions can no longer be asked.
    package func close() {
        isClosed = true
    }

    // MARK: - Within libcurl

    /// Returns 1 if the handshake may continue.
    func verify(_ context: OpenSSL.Pointer, _ functions: HandshakeFunctions) -> Int32 {
        let result = functions.verify(context, name)
        let chain = functions.chain(context)
        let trust = decisions.trust(in: chain)
        if trust == .always {
            functions.setResult(0, context)
            return 1
        }
        // Once the request has been sent, it is too late for questions.
        guard isFirstHandshake, trust == nil else {
            if let mismatch, result == mismatch.verification { failure = mismatch }
            return result == 0 ? 1 : 0
        }
        question = .serverTrust(chain: chain, result: Int(result), reason: functions.text(of: Int(result)))
        functions.setResult(Int32(X509Result.applicationVerification), context)
        return 0
    }

    /// Returns 1 if the handshake may continue.
    func certificateRequested(by ssl: OpenSSL.Pointer, _ functions: HandshakeFunctions) -> Int32 {
        guard isFirstHandshake else { return 1 }
        question = .clientCertificate(authorities: functions.acceptableAuthorities(ssl))
        return 0
    }

    private var isFirstHandshake: Bool {
        guard !isClosed, let easy else { return false }
        return easy.info.offset(CURLINFO_APPCONNECT_TIME_T) == previousHandshake
    }
}

extension HandshakeInquiry {
    /// `context` is the `SSL_CTX` of a connection to the server that is about to shake hands. Within libcurl.
    func configure(_ context: OpenSSL.Pointer, of easy: EasyHandle) -> CURLcode {
        guard let functions = HandshakeFunctions.loaded else { return CURLE_NOT_BUILT_IN }
        // libcurl may repeat a request on another connection, about which nothing has been asked yet.
        previousHandshake = easy.info.offset(CURLINFO_APPCONNECT_TIME_T)
        // Released by `Callbacks.tlsContextFreed`.
        let inquiry = Unmanaged.passRetained(self)
        guard functions.setExtraData(context, functions.extraDataIndex, inquiry.toOpaque()) == 1 else {
            inquiry.release()
            return CURLE_OUT_OF_MEMORY
        }
        functions.setVerification(context, Callbacks.verifyCertificate, inquiry.toOpaque())
        if !decisions.hasDecidedOnCertificate {
            functions.setCertificateRequest(context, Callbacks.certificateRequested, inquiry.toOpaque())
        }
        return CURLE_OK
    }
}
