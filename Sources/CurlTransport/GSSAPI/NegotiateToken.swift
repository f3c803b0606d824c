/// The first token of a conversation by Negotiate (RFC 4559, RFC 4178), which for Kerberos is the only one: a ticket of the process's for the
/// server, fetched from its realm's server if need be.
///
/// libcurl makes such tokens as well, but within its calls, where everything on the event loop would wait for the realm's server.
package enum NegotiateToken {
    /// Why there is none, in the library's words.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    /// The token for the web server `host`, for a single request: a server refuses one that it has seen.
    ///
    /// Blocks for as long as the library's own configuration allows, a minute by default, if no Kerberos server or name server answers. Any
    /// thread but an event loop's.
    package static func make(for host: String) throws(Failure) -> [UInt8] {
        guard let functions = GSSFunctions.loaded else { throw Failure("libcurl was built without GSS-API.") }
        return try Conversation(functions).begin(with: "HTTP@" + host)
    }
}

/// The calls for one token.
private struct Conversation {
    /// `gss_buffer_desc`.
    private struct Buffer {
        var length = 0
        var bytes: UnsafeMutableRawPointer?
    }

    /// `gss_OID_desc`.
    private struct Identifier {
        var length: UInt32
        var bytes: UnsafeMutableRawPointer?
    }

    private let functions: GSSFunctions

    init(_ functions: GSSFunctions) {
        self.functions = functions
    }

    func begin(with service: String) throws(NegotiateToken.Failure) -> [UInt8] {
        var minor: GSSFunctions.Status = 0
        // Before the name, which may be looked up in the DNS: most processes have no tickets.
        var credential = try credential()
        defer { _ = functions.releaseCredential(&minor, &credential) }
        var name = try name(of: service)
        defer { _ = functions.releaseName(&minor, &name) }
        guard let name else { throw NegotiateToken.Failure("The library made no name of \(service).") }
        var context: GSSFunctions.Pointer?
        defer { _ = functions.deleteContext(&minor, &context, nil) }
        var token = Buffer()
        defer { _ = functions.releaseBuffer(&minor, &token) }
        let flags = Self.mutual | Self.detectsReplay
        let status = Self.with(Self.negotiation) { mechanism in
            functions.beginContext(
                &minor,
                credential,
                &context,
                name,
                mechanism,
                flags,
                0,
                nil,
                nil,
                nil,
                &token,
                nil,
                nil
            )
        }
        guard !Self.isFailure(status) else { throw failure(status, minor) }
        guard token.length > 0 else { throw NegotiateToken.Failure("The library made an empty token.") }
        return [UInt8](UnsafeRawBufferPointer(start: token.bytes, count: token.length))
    }

    /// The process's own, which is chosen only when the server is known.
    private func credential() throws(NegotiateToken.Failure) -> GSSFunctions.Pointer? {
        var (minor, credential): (GSSFunctions.Status, GSSFunctions.Pointer?) = (0, nil)
        let status = functions.acquireCredential(&minor, nil, 0, nil, Self.initiates, &credential, nil, nil)
        guard !Self.isFailure(status) else { throw failure(status, minor) }
        return credential
    }

    private func name(of service: String) throws(NegotiateToken.Failure) -> GSSFunctions.Pointer? {
        var (minor, name): (GSSFunctions.Status, GSSFunctions.Pointer?) = (0, nil)
        var bytes = Array(service.utf8)
        let status = bytes.withUnsafeMutableBytes { bytes in
            var text = Buffer(length: bytes.count, bytes: bytes.baseAddress)
            return Self.with(Self.serviceAtHost) { functions.importName(&minor, &text, $0, &name) }
        }
        guard !Self.isFailure(status) else { throw failure(status, minor) }
        return name
    }

    /// Calls `body` with the `gss_OID` of these bytes.
    private static func with<Result>(_ bytes: [UInt8], _ body: (GSSFunctions.Pointer) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { bytes in
            var identifier = Identifier(length: UInt32(bytes.count), bytes: bytes.baseAddress)
            return body(&identifier)
        }
    }

    // MARK: - Failures

    private static func isFailure(_ status: GSSFunctions.Status) -> Bool { status >> 16 != 0 }

    /// The mechanism's reason is the more specific one, if it gives any.
    private func failure(_ status: GSSFunctions.Status, _ minor: GSSFunctions.Status) -> NegotiateToken.Failure {
        let reasons = [text(of: status, kind: 1), minor == 0 ? nil : text(of: minor, kind: 2)]
        return NegotiateToken.Failure(reasons.compactMap(\.self).joined(separator: ": "))
    }

    /// - Parameter kind: GSS_C_GSS_CODE or GSS_C_MECH_CODE.
    private func text(of status: GSSFunctions.Status, kind: Int32) -> String? {
        var (minor, position): (GSSFunctions.Status, UInt32) = (0, 0)
        var text = Buffer()
        defer { _ = functions.releaseBuffer(&minor, &text) }
        let outcome = Self.with(Self.negotiation) { mechanism in
            functions.describeStatus(&minor, status, kind, mechanism, &position, &text)
        }
        guard !Self.isFailure(outcome), text.length > 0 else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
    }

    // MARK: - RFC 2744's constants

    /// SPNEGO, 1.3.6.1.5.5.2 (RFC 4178 §4.1).
    private static let negotiation: [UInt8] = [0x2b, 6, 1, 5, 5, 2]
    /// GSS_C_NT_HOSTBASED_SERVICE, 1.2.840.113554.1.2.1.4.
    private static let serviceAtHost: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 1, 4]
    private static let initiates: Int32 = 1
    private static let mutual: UInt32 = 2
    private static let detectsReplay: UInt32 = 4
}
