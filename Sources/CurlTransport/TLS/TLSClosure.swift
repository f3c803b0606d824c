import CCurlNetworkingLibcurl

/// Records whether the other side of a TLS connection has announced that it sends no more (RFC 8446 §6.1). If only the connection's end
/// delimits a body, only that announcement tells a complete body from a truncated one (RFC 9112 §9.8), and libcurl doesn't look.
///
/// Loop only. OpenSSL's object for the connection retains it, and libcurl frees that before it reports the transfer's end.
package final class TLSClosure {
    package fileprivate(set) var wasAnnounced = false

    /// Watches the end of the transfer's connection from this call on; nil without TLS, or if libcurl uses a library other than OpenSSL.
    /// Within libcurl, before the end has been read.
    package static func watch(_ easy: EasyHandle) -> TLSClosure? {
        easy.info.openSSLSession.flatMap { ClosureFunctions.loaded?.watch(OpenSSL.Pointer(mutating: $0)) }
    }
}

/// https://docs.openssl.org/3.0/man3/SSL_CTX_set_info_callback/
private struct ClosureFunctions: Sendable {
    typealias Pointer = OpenSSL.Pointer
    typealias Callback = @convention(c) (Pointer?, Int32, Int32) -> Void

    private let setCallback: @convention(c) (Pointer, Callback) -> Void
    private let shutdownState: @convention(c) (Pointer) -> Int32
    private let setExtraData: @convention(c) (Pointer, Int32, Pointer?) -> Int32
    private let extraData: @convention(c) (Pointer, Int32) -> Pointer?
    /// The slot in which connections keep our object.
    private let index: Int32

    static let loaded = try? ClosureFunctions()

    /// CRYPTO_EX_INDEX_SSL
    private static let connections: Int32 = 0
    /// SSL_CB_READ_ALERT
    private static let readAlert: Int32 = 0x4004
    /// SSL_AD_CLOSE_NOTIFY, below the alert's level.
    private static let closeNotify: Int32 = 0
    /// SSL_RECEIVED_SHUTDOWN
    private static let receivedShutdown: Int32 = 2

    private init() throws(OpenSSL.Missing) {
        setCallback = try OpenSSL.function("SSL_set_info_callback")
        shutdownState = try OpenSSL.function("SSL_get_shutdown")
        setExtraData = try OpenSSL.function("SSL_set_ex_data")
        extraData = try OpenSSL.function("SSL_get_ex_data")
        index = try OpenSSL.slot(in: Self.connections) { _, closure, _, _, _, _ in
            if let closure { Unmanaged<TLSClosure>.fromOpaque(closure).release() }
        }
    }

    /// nil if OpenSSL is out of memory.
    func watch(_ connection: Pointer) -> TLSClosure? {
        if let closure = closure(of: connection) { return closure }
        let closure = TLSClosure()
        let kept = Unmanaged.passRetained(closure)
        guard setExtraData(connection, index, kept.toOpaque()) == 1 else {
            kept.release()
            return nil
        }
        closure.wasAnnounced = shutdownState(connection) & Self.receivedShutdown != 0
        setCallback(connection) { connection, event, value in
            guard event == ClosureFunctions.readAlert, value & 0xFF == ClosureFunctions.closeNotify else { return }
            connection.flatMap { ClosureFunctions.loaded?.closure(of: $0) }?.wasAnnounced = true
        }
        return closure
    }

    private func closure(of connection: Pointer) -> TLSClosure? {
        extraData(connection, index).map { Unmanaged<TLSClosure>.fromOpaque($0).takeUnretainedValue() }
    }
}
