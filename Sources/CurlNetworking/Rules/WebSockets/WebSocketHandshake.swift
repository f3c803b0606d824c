import Foundation

/// The opening handshake (RFC 6455 §4): what the request says, and which response opens a web socket.
struct WebSocketHandshake: Equatable, Sendable {
    /// What each request of a task offers.
    struct Offer: Equatable, Sendable {
        /// The protocols that the program speaks, the preferred one first.
        var protocols: [String] = []
        /// nil if nothing is to be compressed.
        var compression: WebSocketCompression.Offer?
    }

    /// 16 random bytes, in Base64; different for each request (§4.1).
    let key: String
    let offer: Offer

    init(key: String = Self.makeKey(), _ offer: Offer) {
        (self.key, self.offer) = (key, offer)
    }

    private static func makeKey() -> String {
        Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }

    /// What was negotiated.
    struct Agreement: Equatable {
        var subprotocol: String?
        var compression: WebSocketCompression?
    }

    // MARK: - The request

    /// Names the protocols that the program speaks.
    static let protocolField = "Sec-WebSocket-Protocol"

    /// Those that a field of the program's names; none without one.
    static func protocols(in field: String?) -> [String] {
        (field?.split(separator: ",") ?? []).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Fields that the handshake itself sets, whatever the program does, and those that make no sense without a body.
    private static let ownFields = [
        "Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions",
        protocolField, "Sec-WebSocket-Accept", "Content-Length", "Transfer-Encoding", "Content-Type",
        "Expect", "Accept-Encoding", "TE", "Trailer", "HTTP2-Settings",
    ]

    /// The request's head; see `RequestHead` for `lines`.
    func request(target: String, host: String, lines: [String]) -> RequestHead {
        var head = RequestHead(method: "GET", target: target, host: host, lines: lines)
        head.fields.removeAll { field in
            Self.ownFields.contains { $0.isEqualIgnoringASCIICase(to: field.name) }
        }
        head.add("Upgrade", "websocket")
        head.add("Connection", "Upgrade")
        head.add("Sec-WebSocket-Version", "13")
        head.add("Sec-WebSocket-Key", key)
        if !offer.protocols.isEmpty { head.add(Self.protocolField, offer.protocols.joined(separator: ", ")) }
        if let compression = offer.compression { head.add("Sec-WebSocket-Extensions", compression.field) }
        return head
    }

    // MARK: - The response

    /// The value of `Sec-WebSocket-Accept` that proves that the server has understood the request (§4.2.2).
    var accept: String {
        Data(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }

    /// What the response agrees to (§4.1).
    func agreement(by head: ResponseHead) throws(WebSocketRefusal) -> Agreement {
        guard head.status == 101 else {
            throw WebSocketRefusal("The server doesn't open a web socket: it answered with the status \(head.status).")
        }
        guard head.version == "HTTP/1.1" else { throw WebSocketRefusal("The server's answer is not of HTTP/1.1.") }
        let upgrades = head.fields.values(of: "Upgrade")
        guard !upgrades.isEmpty, upgrades.allSatisfy({ $0.isEqualIgnoringASCIICase(to: "websocket") }) else {
            throw WebSocketRefusal("The server switches to another protocol than that of web sockets.")
        }
        guard ListField.names(in: head.combined("Connection"))?.contains("upgrade") == true else {
            throw WebSocketRefusal("The server's answer lacks the field Connection: Upgrade.")
        }
        let accepted = head.fields.values(of: "Sec-WebSocket-Accept")
        guard accepted.count == 1, accepted[0].hasSameBytes(as: accept) else {
            throw WebSocketRefusal("The server's Sec-WebSocket-Accept is not the one that the request's key asks for.")
        }
        let chosen = head.fields.values(of: "Sec-WebSocket-Protocol")
        guard chosen.count <= 1, chosen.allSatisfy({ offer.protocols.contains(where: $0.hasSameBytes) }) else {
            throw WebSocketRefusal("The server has chosen a protocol that it wasn't offered.")
        }
        let extensions = head.fields.values(of: "Sec-WebSocket-Extensions")
        return Agreement(
            subprotocol: chosen.first,
            compression: try WebSocketCompression.agreed(extensions, on: offer.compression)
        )
    }

}
