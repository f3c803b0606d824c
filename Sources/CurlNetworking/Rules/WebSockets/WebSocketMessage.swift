import Foundation

/// A complete message.
enum WebSocketMessage: Equatable, Sendable {
    case text(String)
    case binary(Data)

    /// The payload's length, in bytes.
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }

    /// The opcode of its first frame.
    var opcode: WebSocketFrameHeader.Opcode {
        if case .text = self { .text } else { .binary }
    }

    /// Calls `body` with the payload: a text's is its UTF-8.
    func withPayload<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .text(var text): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        case .binary(let data): data.withUnsafeBytes(body)
        }
    }
}

/// The content of a close frame (RFC 6455 §5.5.1).
struct WebSocketClosing: Equatable, Sendable {
    /// nil if the frame is empty.
    var code: Int?
    /// UTF-8; at most 123 bytes.
    var reason = Data()

    /// `code`, or what stands for none (RFC 6455 §7.4.1).
    var status: Int { code ?? 1005 }

    init(_ code: Int?, reason: Data = Data()) {
        (self.code, self.reason) = (code, reason)
    }

    /// Decodes the frame's payload.
    init(decoding payload: [UInt8]) throws(WebSocketViolation) {
        guard !payload.isEmpty else {
            self.init(nil)
            return
        }
        guard payload.count >= 2 else { throw WebSocketViolation(.protocolError, "A close frame has half a status.") }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        guard Self.mayBeSent(code) else {
            throw WebSocketViolation(.protocolError, "A close frame has the status \(code), which is not valid there.")
        }
        let reason = Data(payload[2...])
        guard String(validating: reason, as: UTF8.self) != nil else {
            throw WebSocketViolation(.invalidPayload, "The reason in a close frame is not UTF-8.")
        }
        self.init(code, reason: reason)
    }

    /// A close frame that a program asks for: a status that must not be sent is left out, with its reason, and a reason is cut off where
    /// it isn't UTF-8 or becomes too long.
    init(sending code: Int, reason: Data?) {
        guard Self.mayBeSent(code) else {
            self.init(nil)
            return
        }
        self.init(code, reason: Self.sendable(reason ?? Data()))
    }

    var payload: [UInt8] {
        guard let code else { return [] }
        return [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)] + reason
    }

    /// Statuses that may be sent (§7.4): those of the RFC and of IANA's registry, and those reserved for libraries and programs.
    static func mayBeSent(_ code: Int) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    private static let maximumReason = WebSocketFrameHeader.maximumControlPayload - 2

    /// The longest prefix that is UTF-8 and fits.
    private static func sendable(_ reason: Data) -> Data {
        var reason = reason.prefix(maximumReason)
        while String(validating: reason, as: UTF8.self) == nil { reason.removeLast() }
        return Data(reason)
    }
}
