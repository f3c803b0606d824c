import CurlTransport
import Foundation

/// Assembles a server's messages from their fragments (RFC 6455 §5.4), inflates compressed ones (RFC 7692 §7.2.2), and separates the
/// control frames between them.
struct WebSocketAssembler: ~Copyable {
    enum Event: Equatable {
        case message(WebSocketMessage)
        case ping([UInt8])
        case pong([UInt8])
        case close(WebSocketClosing)
    }

    /// In bytes; a larger message fails the connection.
    var maximumMessageSize: Int

    private var parser: WebSocketFrameParser
    private var inflater: MessageInflater?
    private var skipsMessages = false
    private var frame = WebSocketFrameHeader(opcode: .continuation, length: 0)
    private var message: Message?
    /// Of the current message.
    private var payload = CollectedBytes()
    private var control: [UInt8] = []
    /// The cost since the last `takeWork()`.
    private var work = 0

    /// A message whose end hasn't arrived yet.
    private struct Message {
        let isText: Bool
        let isCompressed: Bool
        /// Its length as received, compressed or not; in bytes.
        var wireSize = 0
        /// Checks text that arrives in several pieces.
        var validator = UTF8Validator()
    }

    /// - Parameter inflater: nil if nothing may be compressed.
    init(maximumMessageSize: Int, inflater: MessageInflater? = nil) {
        self.maximumMessageSize = maximumMessageSize
        parser = WebSocketFrameParser(allowsCompression: inflater != nil)
        self.inflater = inflater
    }

    /// Skips messages from now on: only control frames are looked into.
    mutating func skipMessages() {
        skipsMessages = true
        inflater = nil
        message = nil
        payload = CollectedBytes()
    }

    /// Whether messages may be compressed.
    var inflates: Bool { inflater != nil }

    /// Returns the cost since the last call, in bytes: those that inflating has consumed and produced, and a constant for each frame.
    mutating func takeWork() -> Int {
        defer { work = 0 }
        return work
    }

    /// For a frame that has a header and nothing else, in bytes. About 8,000 of them take a few milliseconds.
    static let workPerFrame = 64

    /// How much memory the current message takes, in bytes.
    var waitingCount: Int { payload.count }

    /// How to read the next input, so that the payload of a large frame needn't be copied.
    var nextReading: ChannelReading {
        mutating get {
            let missing = parser.missingCount
            if missing >= Self.minimumDirect, !frame.opcode.isControl, message?.isCompressed == false {
                if payload.room.count < Self.minimumDirect { payload.reserve(min(missing, Self.maximumReserved)) }
                return .into(UnsafeMutableRawBufferPointer(rebasing: payload.room.prefix(missing)))
            }
            // After a large frame another one is likely, and its header comes first.
            return .upTo(missing == 0 && frame.length >= Self.minimumDirect ? Self.maximumHead : .max)
        }
    }

    /// Frames with a smaller payload gain nothing from reading directly. In bytes.
    private static let minimumDirect = 16 * 1024
    private static let maximumHead = 512

    /// Takes the next event off the beginning of `input`; nil if more is needed, and then `input` is empty.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(WebSocketViolation) -> Event? {
        while let element = try parser.next(&input) {
            switch element {
            case .header(let header): try begin(header)
            case .payload(let bytes): try append(bytes)
            case .end: if let event = try end() { return event }
            }
        }
        return nil
    }

    // MARK: - Frames

    private mutating func begin(_ header: WebSocketFrameHeader) throws(WebSocketViolation) {
        frame = header
        work += Self.workPerFrame
        if skipsMessages, !header.opcode.isControl { return }
        switch header.opcode {
        case .close, .ping, .pong:
            control = []
            control.reserveCapacity(header.length)
            return
        case .text, .binary:
            guard message == nil else {
                throw WebSocketViolation(.protocolError, "A message begins before the one before it is complete.")
            }
            message = Message(isText: header.opcode == .text, isCompressed: header.isCompressed)
        case .continuation:
            guard message != nil else {
                throw WebSocketViolation(.protocolError, "A fragment belongs to no message.")
            }
        }
        try reserve(header)
    }

    /// Reserves room for the frame's payload. Throws if it would make the message too large.
    private mutating func reserve(_ header: WebSocketFrameHeader) throws(WebSocketViolation) {
        guard let message else { return }
        let (size, overflows) = message.wireSize.addingReportingOverflow(header.length)
        // Compressing can make a message longer, but by less than this.
        let slack = message.isCompressed ? maximumMessageSize >> 8 + 1024 : 0
        guard !overflows, size - min(size, slack) <= maximumMessageSize else { throw Self.tooBig }
        self.message?.wireSize = size
        // Not all of it: the server has only announced the payload so far.
        if !message.isCompressed { payload.reserve(min(header.length, Self.maximumReserved)) }
    }

    /// The end of every compressed message, which its sender leaves out (RFC 7692 §7.2.2).
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    private static let maximumReserved = 1024 * 1024
    private static let tooBig = WebSocketViolation(.tooBig, "A message is larger than maximumMessageSize.")

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) {
        guard !frame.opcode.isControl else { return control.append(contentsOf: bytes) }
        guard !skipsMessages else { return }
        guard message?.isCompressed == true else { return try appendInflated(bytes) }
        try inflate(bytes)
    }

    private mutating func inflate(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) {
        var rest = bytes
        work += bytes.count
        let most = min(32 * 1024, max(1024, 8 * bytes.count))
        while true {
            // One byte more than allowed reveals a message that is too large.
            let room = min(most, max(0, maximumMessageSize - payload.count)) + 1
            payload.reserve(room)
            let output = UnsafeMutableRawBufferPointer(rebasing: payload.room.prefix(room))
            let step: MessageInflater.Step
            do throws(DecodingFailure) {
                guard let next = try inflater?.inflate(&rest, into: output) else { return }
                step = next
            } catch {
                throw Self.notInflatable(error)
            }
            work += step.produced
            try appendInflated(UnsafeRawBufferPointer(rebasing: output[..<step.produced]))
            if step.isDone { return }
        }
    }

    private static func notInflatable(_ failure: DecodingFailure) -> WebSocketViolation {
        WebSocketViolation(.invalidPayload, "A compressed message can't be inflated: \(failure.text).")
    }

    private mutating func appendInflated(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) {
        guard !bytes.isEmpty, let message else { return }
        guard payload.count + bytes.count <= maximumMessageSize else { throw Self.tooBig }
        if message.isText, !isWhole, self.message?.validator.append(bytes) == false { throw Self.notText }
        payload.append(bytes)
    }

    /// Whether the current piece is the whole message: then it is checked when it becomes text.
    private var isWhole: Bool {
        frame.isFinal && parser.missingCount == 0 && payload.count == 0 && message?.isCompressed == false
    }

    private static let notText = WebSocketViolation(.invalidPayload, "A text message is not UTF-8.")

    private mutating func end() throws(WebSocketViolation) -> Event? {
        switch frame.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close: return .close(try WebSocketClosing(decoding: control))
        case .continuation, .text, .binary: break
        }
        guard frame.isFinal, !skipsMessages else { return nil }
        if message?.isCompressed == true {
            try Self.tail.withBytes { tail throws(WebSocketViolation) in try inflate(tail) }
            do throws(DecodingFailure) {
                try inflater?.endMessage()
            } catch {
                throw Self.notInflatable(error)
            }
        }
        guard let message = message.take() else { return nil }
        guard message.isText else { return .message(.binary(payload.takeData())) }
        guard message.validator.isComplete, let text = payload.takeText() else { throw Self.notText }
        return .message(.text(text))
    }
}
