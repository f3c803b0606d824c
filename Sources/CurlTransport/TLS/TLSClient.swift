/// The client's side of a TLS connection whose bytes the caller carries: `receive` takes those from the server, and `takeOutput` returns
/// those to be sent to it. So TLS can begin in the middle of a connection, as with STARTTLS (RFC 3207), and end before the connection does.
///
/// The server's certificate is verified, its name included, unless the settings say otherwise. If a delegate is to be asked, nothing is
/// sent between the server's certificate and the delegate's answer.
///
/// Used on one event loop at a time. Needs OpenSSL; see `CurlLibrary.startsTLS`.
package final class TLSClient {
    /// How far a handshake has got.
    package enum Handshake: Equatable {
        /// Needs more bytes from the server.
        case needsInput
        /// Continues after the answer: `trustServer()` or `present(_:)`, and then `shakeHands()` again.
        case asks(HandshakeQuestion)
        case done
    }

    package enum Reading: Equatable {
        case bytes(Int)
        case needsInput
        /// The server has ended TLS properly (RFC 8446 §6.1).
        case closed
    }

    /// The server to shake hands with, and what is required of it.
    package struct Peer: Sendable {
        /// A name, or an address in its usual form, without brackets or zone.
        package var host: String
        package var settings = TLSSettings()
        /// nil for the system's.
        package var trust: TrustStore?
        package var decisions = HandshakeDecisions()
        /// Whether there is a delegate to ask about certificates.
        package var asks = false

        package init(host: String) {
            self.host = host
        }
    }

    private let tls: TLSMemoryConnection
    private let handshakes: HandshakeFunctions
    private let peer: Peer
    private let name: CertificateName
    /// The unanswered questions, in order.
    private var questions: [HandshakeQuestion] = []
    /// Why the server's certificate was rejected.
    private var rejection: TransferFailure?
    private var hasDecidedOnCertificate: Bool
    /// Why nothing more can be read.
    private var readFailure: TransferFailure?
    private var hasClosed = false
    private var upkeep = TLSUpkeep()

    package init(_ peer: Peer) throws(TransferFailure) {
        guard let functions = TLSClientFunctions.loaded, let handshakes = HandshakeFunctions.loaded else {
            let text = "This takes a libcurl with OpenSSL; the linked one has \(CurlLibrary.tlsLibrary)."
            throw TransferFailure(code: .notBuiltIn, text: text, phase: .securing)
        }
        name = CertificateName(host: peer.host)
        let certificate = peer.settings.clientCertificate
        hasDecidedOnCertificate = !peer.asks || peer.decisions.hasDecidedOnCertificate || certificate != nil
        tls = try TLSMemoryConnection(functions) { context throws(TransferFailure) in
            try peer.setUp(context, functions)
        }
        (self.peer, self.handshakes) = (peer, handshakes)
        tls.setCallbacks(Unmanaged.passUnretained(self).toOpaque(), handshakes)
        if !name.isAddress { try setServerName() }
        if let certificate { try certificate.use(on: tls) }
        functions.clearErrors()
    }

    /// RFC 6066 §3: a name, never an address.
    private func setServerName() throws(TransferFailure) {
        let result = name.text.withCString { text in
            tls.functions.control(tls.connection, Self.setsServerName, 0, UnsafeMutableRawPointer(mutating: text))
        }
        guard result == 1 else { throw .securing("The host's name can't be sent in a TLS handshake.") }
    }

    // SSL_CTRL_SET_TLSEXT_HOSTNAME
    private static let setsServerName: Int32 = 55

    // MARK: - The bytes that the caller carries

    /// Takes more bytes from the server.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        guard tls.receive(bytes) else { throw TransferFailure(code: .outOfMemory, text: CurlCode.outOfMemory.text) }
    }

    /// Returns the bytes to be sent to the server now. Empty while a question about its certificate is unanswered: only the right server
    /// may see a client's certificate.
    package func takeOutput() -> [UInt8] {
        isWithholding ? [] : tls.takeOutput()
    }

    /// Called when the system has taken all of that output.
    package func noteSent() {
        upkeep.noteSent()
    }

    private var isWithholding: Bool {
        questions.contains { if case .serverTrust = $0 { true } else { false } }
    }

    /// Returns the bytes that the server sent after it ended TLS, unencrypted.
    package func takeRemainder() -> [UInt8] { tls.takeInput() }

    // MARK: - The handshake

    /// Continues as far as the received bytes allow.
    package func shakeHands() throws(TransferFailure) -> Handshake {
        if let question = questions.first { return .asks(question) }
        let outcome = tls.handshake()
        if let rejection { throw rejection }
        if let question = questions.first { return .asks(question) }
        switch outcome {
        case .done: return .done
        case .needsInput: return .needsInput
        case .closed: throw .securing("The server ended TLS during the handshake.")
        case .failed(let text): throw .securing(text)
        }
    }

    /// Answers the question about the server's certificate: it is trusted. For any other answer, drop the connection.
    package func trustServer() {
        guard case .serverTrust = questions.first else { return }
        questions.removeFirst()
    }

    /// Answers the question about the client's certificate: the server gets this one, or none.
    package func present(_ certificate: ClientCertificate?) throws(TransferFailure) {
        guard case .clientCertificate = questions.first else { return }
        questions.removeFirst()
        hasDecidedOnCertificate = true
        try certificate?.use(on: tls)
    }

    // MARK: - Within OpenSSL

    /// Returns 1 if the handshake may continue.
    func verify(_ context: OpenSSL.Pointer) -> Int32 {
        let result = handshakes.verify(context, name)
        let chain = handshakes.chain(context)
        if let pins = peer.settings.publicKeyPins, !hasPin(of: pins, context) {
            return reject(context, .init(code: .sslPinnedPubKeyNotMatch, text: Self.wrongPin, phase: .securing))
        }
        let trust = peer.decisions.trust(in: chain)
        if !peer.settings.verifiesServer || trust == .always { return accept(context) }
        if peer.asks, trust == nil {
            questions.append(
                .serverTrust(chain: chain, result: Int(result), reason: handshakes.text(of: Int(result)))
            )
            return accept(context)
        }
        if result == 0 { return accept(context) }
        return reject(context, .untrusted(Int(result), handshakes.text(of: Int(result))))
    }

    private static let wrongPin = "SSL: public key does not match pinned public key"

    private func hasPin(of pins: String, _ context: OpenSSL.Pointer) -> Bool {
        guard let pin = handshakes.withLeaf(of: context, { tls.functions.pin(of: $0) }) else { return false }
        return pins.split(separator: ";").contains { $0 == pin }
    }

    private func accept(_ context: OpenSSL.Pointer) -> Int32 {
        handshakes.setResult(0, context)
        return 1
    }

    private func reject(_ context: OpenSSL.Pointer, _ failure: TransferFailure) -> Int32 {
        rejection = failure
        if failure.verification != 0 { handshakes.setResult(Int32(failure.verification), context) }
        return 0
    }

    /// Returns 1 if the handshake may continue, -1 if it has to wait for an answer.
    func certificateRequested() -> Int32 {
        guard !hasDecidedOnCertificate else { return 1 }
        if !questions.contains(where: { if case .clientCertificate = $0 { true } else { false } }) {
            let authorities = handshakes.acceptableAuthorities(tls.connection)
            questions.append(.clientCertificate(authorities: authorities))
        }
        return -1
    }

    // MARK: - After the handshake

    /// Decrypts received bytes, up to the buffer's size and at most one record. There may be output afterwards. Once it has thrown, it
    /// throws the same error again.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferFailure) -> Reading {
        if let readFailure { throw readFailure }
        let before = tls.counts
        let outcome = tls.read(into: buffer)
        let after = tls.counts
        var received = 0
        if case .done(let count) = outcome { received = count }
        let (consumed, answered) = (before.input - after.input, after.output - before.output)
        guard upkeep.note(received: received, consumed: consumed, answered: answered) else {
            throw failReading("The server keeps TLS busy without sending anything.")
        }
        switch outcome {
        case .done(let count): return .bytes(count)
        case .needsInput: return .needsInput
        case .closed: return .closed
        case .failed(let text): throw failReading(text)
        }
    }

    private func failReading(_ text: String) -> TransferFailure {
        let failure = TransferFailure(code: .recvError, text: text, phase: .receiving)
        readFailure = failure
        return failure
    }

    /// Encrypts all of the bytes.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        var rest = bytes
        while !rest.isEmpty {
            guard case .done(let count) = tls.write(rest), count > 0 else {
                throw TransferFailure(code: .sendError, text: "OpenSSL could not encrypt.", phase: .sending)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Announces that this side sends nothing more: the last thing to be sent. Calls after the first do nothing.
    package func close() {
        // The second time, OpenSSL would drop unread bytes.
        guard !hasClosed else { return }
        hasClosed = true
        tls.close()
    }

    /// The result of the handshake.
    package var session: TLSSession? { TLSSession(of: tls.connection) }
}

extension CurlLibrary {
    /// Whether TLS can begin in the middle of a connection: that takes OpenSSL functions that other libraries lack.
    package static let startsTLS = TLSClientFunctions.loaded != nil && HandshakeFunctions.loaded != nil
}

extension TransferFailure {
    static func securing(_ text: String) -> TransferFailure {
        TransferFailure(code: .sslConnectError, text: text, phase: .securing)
    }

    /// A server closed a connection without ending TLS (RFC 8446 §6.1).
    package static var truncatedTLS: TransferFailure {
        let text = "The server closed the connection without ending TLS: something may be missing."
        return TransferFailure(code: .recvError, text: text, phase: .receiving)
    }

    /// libcurl's failure for a certificate that verification rejected.
    package static func untrusted(_ result: Int, _ reason: String) -> TransferFailure {
        let text = "SSL certificate problem: \(reason)"
        var failure = TransferFailure(code: .peerFailedVerification, text: text, phase: .securing)
        failure.verification = result
        return failure
    }
}

extension TLSClient.Peer {
    // SSL_OP_NO_RENEGOTIATION and SSL_OP_NO_COMPRESSION
    private static let options: UInt = 1 << 30 | 1 << 17
    // SSL_VERIFY_PEER
    private static let verifiesPeer: Int32 = 1
    // SSL_CTRL_SET_MIN_PROTO_VERSION and SSL_CTRL_SET_MAX_PROTO_VERSION
    private static let (setsMinimum, setsMaximum): (Int32, Int32) = (123, 124)
    private static let defaultMinimum: UInt16 = 0x0303

    /// Prepares an `SSL_CTX`.
    fileprivate func setUp(_ context: OpenSSL.Pointer, _ functions: TLSClientFunctions) throws(TransferFailure) {
        _ = functions.setOptions(context, Self.options)
        functions.setVerifyMode(context, Self.verifiesPeer, nil)
        let minimum = Int(settings.minimumVersion ?? Self.defaultMinimum)
        // 0 stands for the newest.
        let maximum = Int(settings.maximumVersion ?? 0)
        guard functions.controlContext(context, Self.setsMinimum, minimum, nil) == 1,
            functions.controlContext(context, Self.setsMaximum, maximum, nil) == 1
        else { throw .securing("OpenSSL refuses the versions of TLS.") }
        if let list = settings.cipherList, functions.setCipherList(context, list) != 1 {
            throw TransferFailure(code: .sslCipher, text: "failed setting cipher list: \(list)", phase: .securing)
        }
        if let suites = settings.cipherSuites, functions.setCipherSuites(context, suites) != 1 {
            throw TransferFailure(
                code: .sslCipher,
                text: "failed setting TLS 1.3 cipher suite: \(suites)",
                phase: .securing
            )
        }
        guard settings.verifiesServer else { return }
        if let complaint = (trust ?? .system).use(in: context) {
            throw TransferFailure(code: .sslCACertBadFile, text: complaint, phase: .securing)
        }
    }
}
