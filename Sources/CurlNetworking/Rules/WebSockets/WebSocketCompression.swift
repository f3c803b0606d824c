/// The compression of messages that client and server have negotiated (RFC 7692 §7.1).
struct WebSocketCompression: Equatable, Sendable {
    /// What the client asks for, or declares about itself.
    struct Offer: Equatable, Sendable {
        /// Whether the server is asked to compress each message by itself.
        var serverForgets = false
        /// Whether the client compresses each message by itself.
        var clientForgets = false
        /// The server is asked for a window of no more than 2 to the power of this many bytes, from 8 to 15; nil for any.
        var serverWindowBits: Int?
        /// The same for the client's own window; nil for the server's choice.
        var clientWindowBits: Int?

        /// The value for the field `Sec-WebSocket-Extensions`.
        var field: String {
            var parts = [WebSocketCompression.name]
            if serverForgets { parts.append("server_no_context_takeover") }
            if clientForgets { parts.append("client_no_context_takeover") }
            if let serverWindowBits { parts.append("server_max_window_bits=\(serverWindowBits)") }
            parts.append(clientWindowBits.map { "client_max_window_bits=\($0)" } ?? "client_max_window_bits")
            return parts.joined(separator: "; ")
        }
    }

    var serverForgets = false
    var clientForgets = false
    var serverWindowBits = 15
    var clientWindowBits = 15

    private static let name = "permessage-deflate"

    /// zlib doesn't compress with a smaller window.
    private static let smallestWindow = 9

    /// Whether the client can compress within these limits. It needn't.
    var canCompress: Bool { clientWindowBits >= Self.smallestWindow }

    /// What the server has agreed to, in its `Sec-WebSocket-Extensions` fields; nil for no compression. `offer` is what it was offered;
    /// nil for nothing.
    ///
    /// - Throws: A description of what the server must not answer.
    static func agreed(_ fields: [String], on offer: Offer?) throws(WebSocketRefusal) -> WebSocketCompression? {
        guard !fields.isEmpty else { return nil }
        // Empty elements are ignored (RFC 9110 §5.6.1.2); one other is required (RFC 6455 §9.1). What is quoted must be a token, too, so it
        // has no separators.
        let extensions = fields.flatMap { $0.split(separator: ",") }.filter { !$0.trimmed.isEmpty }
        var parts = (extensions.first ?? "").split(separator: ";", omittingEmptySubsequences: false).map(\.trimmed)
        guard extensions.count == 1, String(parts.removeFirst()).isEqualIgnoringASCIICase(to: name), let offer else {
            throw WebSocketRefusal("The server uses an extension that wasn't offered.")
        }
        var agreed = WebSocketCompression(clientForgets: offer.clientForgets)
        if let bits = offer.clientWindowBits { agreed.clientWindowBits = bits }
        var seen: Set<String> = []
        for part in parts {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
            let name = pair[0].lowercased()
            guard seen.insert(name).inserted else {
                throw WebSocketRefusal("The server's parameter \(name.debugDescription) is there twice.")
            }
            try agreed.apply(name, pair.count == 2 ? FieldSyntax.unquoted(pair[1]) ?? String(pair[1]) : nil)
        }
        guard !offer.serverForgets || agreed.serverForgets,
            agreed.serverWindowBits <= offer.serverWindowBits ?? 15
        else { throw WebSocketRefusal("The server ignores a parameter of the extension permessage-deflate.") }
        agreed.clientWindowBits = min(agreed.clientWindowBits, offer.clientWindowBits ?? 15)
        return agreed
    }

    private mutating func apply(_ name: String, _ value: String?) throws(WebSocketRefusal) {
        switch (name, value, value.flatMap(Self.windowBits)) {
        case ("server_no_context_takeover", nil, _): serverForgets = true
        case ("client_no_context_takeover", nil, _): clientForgets = true
        case ("server_max_window_bits", _, let bits?): serverWindowBits = bits
        case ("client_max_window_bits", _, let bits?): clientWindowBits = bits
        default:
            throw WebSocketRefusal(
                "The server's parameter \(name.debugDescription) of permessage-deflate is not valid."
            )
        }
    }

    /// Without leading zeros.
    private static func windowBits(_ text: String) -> Int? {
        (8...15).first { String($0).hasSameBytes(as: text) }
    }
}

/// Why a response to the handshake doesn't open a web socket.
struct WebSocketRefusal: Error, Equatable, Sendable {
    /// For people.
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
