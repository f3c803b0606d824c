/// The header of a frame (RFC 6455 §5.2).
struct WebSocketFrameHeader: Equatable, Sendable {
    enum Opcode: UInt8, Sendable {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        /// Whether frames concern the connection, and may come between the fragments of a message (§5.5).
        var isControl: Bool { rawValue & 0x8 != 0 }
    }

    var opcode: Opcode
    /// Whether it is the last frame of its message.
    var isFinal = true
    /// The first reserved bit: whether the message is compressed (RFC 7692 §6).
    var isCompressed = false
    /// The payload's length, in bytes.
    var length: Int

    /// The longest payload of a control frame (§5.5).
    static let maximumControlPayload = 125
}

/// A peer's violation of the RFC, or something that can't be accepted. It fails the connection (RFC 6455 §7.1.7).
struct WebSocketViolation: Error, Equatable, Sendable {
    /// The status with which the connection is closed (§7.4.1).
    enum Status: Int, Sendable {
        case protocolError = 1002
        case invalidPayload = 1007
        case tooBig = 1009
    }

    let status: Status
    /// For people.
    let description: String

    init(_ status: Status, _ description: String) {
        (self.status, self.description) = (status, description)
    }
}
