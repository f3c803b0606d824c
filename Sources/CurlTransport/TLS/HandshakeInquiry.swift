import CCurlNetworkingLibcurl
import Glibc

/// What a handshake has come to that somebody wants to be asked about before it goes on.
package enum HandshakeQuestion: Sendable, Hashable {
    /// The server presented these certificates (DER, its own first), and verifying them came to `result`; 0 is good.
    case serverTrust(chain: [[UInt8]], result: Int, reason: String)
    /// The server wants to see a certificate of one of these authorities (names in DER), or of any where there are none.
    case clientCertificate(authorities: [[UInt8]])
}

/// What has been decided about an origin's handshakes.
package struct HandshakeDecisions: Sendable {
    /// Chains that are trusted whatever verifying them comes to.
    package var acceptedChains: [[[UInt8]]] = []
    /// Chains that are trusted where verification says so, without a question.
    package var verifiedChains: [[[UInt8]]] = []
    /// The server gets the certificate that there is, or goes without.
    package var hasDecidedOnCertificate = false

    package init() {}
}

/// Stops a transfer's handshake where something comes up that has not been decided yet: nothing of the request has been sent then.
/// The transfer fails, `question` says why, and whoever knows the answer starts another with a decision more.
///
/// It verifies the host as well, in libcurl's place: else a chain that was accepted for another host than its own would be
/// refused. Public-key pins stay libcurl's. Needs OpenSSL; see `CurlLibrary.decidesTrust`.
///
/// `@unchecked Sendable`: the loop's alone; OpenSSL calls within libcurl. Each connection's `SSL_CTX` keeps it to its end, since a
/// server may shake hands again.
package final class HandshakeInquiry: @unchecked Sendable {
    private let host: String
    private let isAddress: Bool
    private let decisions: HandshakeDecisions
    private let certificate: ClientCertificate?
    private weak var easy: EasyHandle?
    private var isClosed = false
    /// What stopped the handshake.
    package private(set) var question: HandshakeQuestion?

    /// - Parameters:
    ///   - host: A name, or an address without brackets.
    ///   - certificate: What the server is shown if it asks for one, instead of the profile's.
    package init(host: String, decisions: HandshakeDecisions, certificate: ClientCertificate? = nil) {
        let host = CurlLibrary.numericHost(host.hasSuffix(".") ? String(host.dropLast()) : host)
        self.host = host
        var address = in6_addr()
        isAddress = inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
        self.decisions = decisions
        self.certificate = certificate
    }

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        self.easy = easy
        try certificate?.apply(to: easy)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        // A session that is resumed has been verified before, and nobody would be asked.
        try easy.set(CURLOPT_SSL_SESSIONID_CACHE, false)
        try easy.addTLSHook(self)
    }

    /// The transfer is over: nobody can be asked any more.
    package func close() {
        isClosed = true
    }

    // MARK: - Within libcurl

    /// 1 where the handshake may go on.
    func verify(_ context: OpenSSL.Pointer, _ functions: HandshakeFunctions) -> Int32 {
        var result = functions.verify(context)
        if result == 0, !functions.isLeafFor(host, context, isAddress: isAddress) {
            result = Int32(isAddress ? X509Result.addressMismatch : X509Result.hostnameMismatch)
            functions.setResult(result, context)
        }
        let chain = functions.chain(context)
        if decisions.acceptedChains.contains(chain) {
            functions.setResult(0, context)
            return 1
        }
        // Once the request is out, it is too late for questions.
        guard isFirstHandshake, !decisions.verifiedChains.contains(chain) else { return result == 0 ? 1 : 0 }
        question = .serverTrust(chain: chain, result: Int(result), reason: functions.text(of: Int(result)))
        functions.setResult(Int32(X509Result.applicationVerification), context)
        return 0
    }

    /// 1 where the handshake may go on.
    func certificateRequested(by ssl: OpenSSL.Pointer, _ functions: HandshakeFunctions) -> Int32 {
        guard isFirstHandshake else { return 1 }
        question = .clientCertificate(authorities: functions.acceptableAuthorities(ssl))
        return 0
    }

    private var isFirstHandshake: Bool {
        guard !isClosed, let easy else { return false }
        return easy.info(CURLINFO_APPCONNECT_TIME_T) == 0
    }
}

extension HandshakeInquiry: TLSHook {
    /// Proxies and name servers stay libcurl's to verify.
    func configure(_ context: OpenSSL.Pointer, of easy: EasyHandle, with peer: TLSPeer) -> CURLcode {
        guard peer == .server else { return CURLE_OK }
        guard let functions = HandshakeFunctions.loaded else { return CURLE_NOT_BUILT_IN }
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
