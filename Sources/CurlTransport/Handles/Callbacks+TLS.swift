// The function pointers passed to OpenSSL. Their context is a `HandshakeInquiry`, which the connection's `SSL_CTX` retains, or the
// `TLSClient` that is calling OpenSSL.

extension Callbacks {
    /// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_verify_callback/
    static let verifyCertificate: HandshakeFunctions.Verification = { context, inquiry in
        guard let context, let inquiry, let functions = HandshakeFunctions.loaded else { return 0 }
        return object(inquiry, as: HandshakeInquiry.self).verify(context, functions)
    }

    /// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_cb/
    static let certificateRequested: HandshakeFunctions.Verification = { ssl, inquiry in
        guard let ssl, let inquiry, let functions = HandshakeFunctions.loaded else { return 0 }
        return object(inquiry, as: HandshakeInquiry.self).certificateRequested(by: ssl, functions)
    }

    /// Called for every context that is freed, with null for those that aren't ours.
    /// https://docs.openssl.org/3.0/man3/CRYPTO_get_ex_new_index/
    static let tlsContextFreed: OpenSSL.Destructor = { _, inquiry, _, _, _, _ in
        guard let inquiry else { return }
        Unmanaged<HandshakeInquiry>.fromOpaque(inquiry).release()
    }

    /// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_verify_callback/
    static let verifyServer: HandshakeFunctions.Verification = { context, client in
        guard let context, let client else { return 0 }
        return object(client, as: TLSClient.self).verify(context)
    }

    /// https://docs.openssl.org/3.0/man3/SSL_CTX_set_cert_cb/
    static let serverWantsCertificate: HandshakeFunctions.Verification = { _, client in
        guard let client else { return 0 }
        return object(client, as: TLSClient.self).certificateRequested()
    }

    private static func object<Object: AnyObject>(_ context: OpenSSL.Pointer, as type: Object.Type) -> Object {
        Unmanaged.fromOpaque(context).takeUnretainedValue()
    }
}
