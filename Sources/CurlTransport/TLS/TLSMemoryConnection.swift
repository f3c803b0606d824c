/// OpenSSL's objects for one connection whose bytes lie in memory, and the calls on them. `TLSClient` decides what happens.
///
/// Used on one event loop at a time.
final class TLSMemoryConnection {
    /// The result of a call on the connection.
    enum Outcome {
        /// The count of bytes, for reading and writing.
        case done(Int)
        case needsInput
        /// The other side has ended TLS properly.
        case closed
        /// With OpenSSL's description.
        case failed(String)
    }

    let functions: TLSClientFunctions
    private let context: OpenSSL.Pointer
    /// `SSL *`
    let connection: OpenSSL.Pointer
    /// The connection's own: received bytes, and bytes to send.
    private let (input, output): (OpenSSL.Pointer, OpenSSL.Pointer)

    /// - Parameter setUp: Called with the `SSL_CTX` before the connection is made from it.
    init(
        _ functions: TLSClientFunctions,
        setUp: (OpenSSL.Pointer) throws(TransferFailure) -> Void
    ) throws(TransferFailure) {
        guard let method = functions.clientMethod(), let memory = functions.memory(),
            let context = functions.newContext(method)
        else { throw Self.outOfMemory }
        do throws(TransferFailure) {
            try setUp(context)
        } catch {
            functions.freeContext(context)
            throw error
        }
        guard let connection = functions.newConnection(context) else {
            functions.freeContext(context)
            throw Self.outOfMemory
        }
        guard let input = functions.newMemory(memory) else {
            functions.freeConnection(connection)
            functions.freeContext(context)
            throw Self.outOfMemory
        }
        guard let output = functions.newMemory(memory) else {
            _ = functions.freeMemory(input)
            functions.freeConnection(connection)
            functions.freeContext(context)
            throw Self.outOfMemory
        }
        // The connection now owns both, and frees them.
        functions.setMemory(connection, input, output)
        functions.setConnectState(connection)
        self.functions = functions
        (self.context, self.connection, self.input, self.output) = (context, connection, input, output)
    }

    deinit {
        functions.freeConnection(connection)
        functions.freeContext(context)
    }

    private static let outOfMemory = TransferFailure(code: .outOfMemory, text: CurlCode.outOfMemory.text)

    /// Has OpenSSL ask `owner`, which must outlive every call on the connection.
    func setCallbacks(_ owner: OpenSSL.Pointer, _ handshakes: HandshakeFunctions) {
        handshakes.setVerification(context, Callbacks.verifyServer, owner)
        functions.setCertificateRequest(connection, Callbacks.serverWantsCertificate, owner)
    }

    // MARK: - The bytes that the caller carries

    /// False if memory runs out.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return true }
        guard let count = Int32(exactly: bytes.count) else { return false }
        return functions.writeMemory(input, base, count) == count
    }

    /// Returns all bytes to be sent.
    func takeOutput() -> [UInt8] { take(output) }

    /// Returns the bytes that arrived after the end of TLS.
    func takeInput() -> [UInt8] { take(input) }

    /// How many bytes are waiting to be read, and how many to be sent.
    var counts: (input: Int, output: Int) { (functions.memoryCount(input), functions.memoryCount(output)) }

    private func take(_ memory: OpenSSL.Pointer) -> [UInt8] {
        let size = min(functions.memoryCount(memory), Int(Int32.max))
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = buffer.baseAddress.map { max(0, Int(functions.readMemory(memory, $0, Int32(size)))) } ?? 0
        }
    }

    // MARK: - TLS

    func handshake() -> Outcome {
        act { functions.handshake(connection) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let base = buffer.baseAddress, !buffer.isEmpty else { return .done(0) }
        return act { functions.read(connection, base, Int32(clamping: buffer.count)) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return .done(0) }
        return act { functions.write(connection, base, Int32(clamping: bytes.count)) }
    }

    /// Announces that this side sends nothing more.
    func close() {
        functions.clearErrors()
        _ = functions.shutDown(connection)
        functions.clearErrors()
    }

    // https://docs.openssl.org/3.0/man3/SSL_get_error/
    private enum Code {
        static let wantsInput: Int32 = 2
        static let wantsOutput: Int32 = 3
        static let wantsCertificate: Int32 = 4
        static let closed: Int32 = 6
    }

    private func act(_ call: () -> Int32) -> Outcome {
        // SSL_get_error looks at this thread's errors, which may be another connection's.
        functions.clearErrors()
        let result = call()
        guard result <= 0 else { return .done(Int(result)) }
        switch functions.outcome(connection, result) {
        case Code.wantsInput, Code.wantsOutput, Code.wantsCertificate:
            return .needsInput
        case Code.closed:
            return .closed
        default:
            return .failed(functions.takeErrorText() ?? "The TLS connection failed.")
        }
    }
}
