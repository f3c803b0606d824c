import Foundation

@testable import CurlTransport

/// The server's side of a TLS connection in memory, made of OpenSSL's functions as the client's is.
final class TLSServerEnd {
    /// What a server can show.
    struct Identity {
        var certificate = TLSSamples.server
        var key = TLSSamples.serverKey
    }

    enum ClientCertificates: Int32 {
        case unwanted = 0
        /// SSL_VERIFY_PEER
        case wanted = 1
        /// With SSL_VERIFY_FAIL_IF_NO_PEER_CERT
        case required = 3
    }

    struct Failure: Error {}

    private let functions: TLSClientFunctions
    private let context: OpenSSL.Pointer
    private let connection: OpenSSL.Pointer
    private let (input, output): (OpenSSL.Pointer, OpenSSL.Pointer)

    init(
        _ identity: Identity = Identity(),
        maximumVersion: Int = 0,
        clientCertificates: ClientCertificates = .unwanted
    ) throws {
        guard let functions = TLSClientFunctions.loaded, let handshakes = HandshakeFunctions.loaded else {
            throw Failure()
        }
        let method: @convention(c) () -> OpenSSL.Pointer? = try OpenSSL.function("TLS_server_method")
        let accept: @convention(c) (OpenSSL.Pointer) -> Void = try OpenSSL.function("SSL_set_accept_state")
        guard let memory = functions.memory(), let method = method(), let context = functions.newContext(method),
            let connection = functions.newConnection(context), let input = functions.newMemory(memory),
            let output = functions.newMemory(memory)
        else { throw Failure() }
        functions.setMemory(connection, input, output)
        accept(connection)
        (self.functions, self.context, self.connection) = (functions, context, connection)
        (self.input, self.output) = (input, output)
        _ = functions.control(connection, 124, maximumVersion, nil)
        let setVerify: @convention(c) (OpenSSL.Pointer, Int32, OpenSSL.Pointer?) -> Void = try OpenSSL.function(
            "SSL_set_verify"
        )
        setVerify(connection, clientCertificates.rawValue, nil)
        // Any certificate is accepted.
        handshakes.setVerification(context, { _, _ in 1 }, nil)
        try use(identity)
    }

    deinit {
        functions.freeConnection(connection)
        functions.freeContext(context)
    }

    private func use(_ identity: Identity) throws {
        try withMemory(identity.certificate) { memory in
            guard let certificate = functions.readCertificate(memory, nil, nil, "") else { throw Failure() }
            defer { functions.freeCertificate(certificate) }
            guard functions.useCertificate(connection, certificate) == 1 else { throw Failure() }
        }
        try withMemory(identity.key) { memory in
            guard let key = functions.readKey(memory, nil, nil, "") else { throw Failure() }
            defer { functions.freeKey(key) }
            guard functions.useKey(connection, key) == 1 else { throw Failure() }
        }
    }

    private func withMemory(_ text: String, _ body: (OpenSSL.Pointer) throws -> Void) throws {
        let bytes = Array(text.utf8)
        try bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let memory = functions.memoryOver(base, Int32(bytes.count)) else {
                throw Failure()
            }
            defer { _ = functions.freeMemory(memory) }
            try body(memory)
        }
    }

    // MARK: - The bytes

    func receive(_ bytes: [UInt8]) {
        _ = functions.writeMemory(input, bytes, Int32(bytes.count))
    }

    func takeOutput() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: functions.memoryCount(output))
        guard !bytes.isEmpty else { return [] }
        let count = functions.readMemory(output, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(0, count))))
    }

    /// True once the handshake is done.
    func shakeHands() -> Bool {
        functions.clearErrors()
        return functions.handshake(connection) == 1
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = functions.write(connection, bytes, Int32(bytes.count))
    }

    /// Changes the server's key, and perhaps asks the client to change its own (RFC 8446 §4.6.3).
    func updateKeys(asking: Bool) throws {
        let update: @convention(c) (OpenSSL.Pointer, Int32) -> Int32 = try OpenSSL.function("SSL_key_update")
        guard update(connection, asking ? 1 : 0) == 1, shakeHands() else { throw Failure() }
    }

    /// What has come; nil where the client has ended TLS, empty where nothing is there.
    func read() -> String? {
        functions.clearErrors()
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = functions.read(connection, &bytes, Int32(bytes.count))
        if count > 0 { return String(decoding: bytes.prefix(Int(count)), as: UTF8.self) }
        return functions.outcome(connection, count) == 6 ? nil : ""
    }

    func close() {
        _ = functions.shutDown(connection)
    }

    /// Whether the client has shown a certificate.
    func hasClientCertificate() throws -> Bool {
        typealias Getter = @convention(c) (OpenSSL.Pointer) -> OpenSSL.Pointer?
        let newer: Getter? = try? OpenSSL.function("SSL_get1_peer_certificate")
        let get = try newer ?? OpenSSL.function("SSL_get_peer_certificate")
        guard let certificate = get(connection) else { return false }
        functions.freeCertificate(certificate)
        return true
    }
}

/// A client and a server whose bytes the test carries.
struct TLSPair {
    let client: TLSClient
    let server: TLSServerEnd

    init(
        _ server: TLSServerEnd,
        host: String = "server.test",
        _ change: (inout TLSClient.Peer) throws -> Void = { _ in }
    ) throws {
        var peer = TLSClient.Peer(host: host)
        peer.trust = TrustStore(TrustStore.Content(authorities: [.certificate(try Self.authority)]))
        try change(&peer)
        client = try TLSClient(peer)
        self.server = server
    }

    static var authority: [UInt8] {
        get throws { try der(TLSSamples.authority) }
    }

    /// The bytes between the lines of PEM.
    static func der(_ pem: String) throws -> [UInt8] {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        guard let data = Data(base64Encoded: lines.joined()) else { throw TLSServerEnd.Failure() }
        return Array(data)
    }

    /// Carries bytes in pieces of that size, until the client asks or both are done.
    func shakeHands(pieceSize: Int = .max) throws -> TLSClient.Handshake {
        while true {
            let handshake = try client.shakeHands()
            toServer()
            let isDone = server.shakeHands()
            let output = server.takeOutput()
            if case .asks = handshake { return handshake }
            if handshake == .done, isDone {
                try toClient(output, pieceSize: pieceSize)
                return .done
            }
            if output.isEmpty, handshake == .needsInput { return .needsInput }
            try toClient(output, pieceSize: pieceSize)
        }
    }

    func toServer() {
        let bytes = client.takeOutput()
        if !bytes.isEmpty { server.receive(bytes) }
    }

    func toClient() throws {
        try toClient(server.takeOutput(), pieceSize: .max)
    }

    private func toClient(_ bytes: [UInt8], pieceSize: Int) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieceSize))
            rest = rest.dropFirst(piece.count)
            try piece.withUnsafeBytes { try client.receive($0) }
            if rest.isEmpty { return }
            _ = try client.shakeHands()
        }
    }

    func write(_ text: String) throws {
        try Array(text.utf8).withUnsafeBytes { try client.write($0) }
        toServer()
    }

    /// What the client can decrypt; nil where the server has ended TLS.
    func read() throws -> String? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        switch try bytes.withUnsafeMutableBytes({ try client.read(into: $0) }) {
        case .bytes(let count): return String(decoding: bytes.prefix(count), as: UTF8.self)
        case .needsInput: return ""
        case .closed: return nil
        }
    }
}
