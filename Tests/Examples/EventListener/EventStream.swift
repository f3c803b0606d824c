import CurlNetworking
import Foundation

/// One message of a stream of server-sent events.
struct ServerEvent: Sendable {
    var type = "message"
    var data = ""
    var id = ""
}

/// Puts events together from lines, as the specification says:
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>
struct EventParser {
    /// What a new connection tells the server: the last event that has come as a whole.
    private(set) var lastEventID: String
    private var id: String
    /// What the server wants to be left alone for before the next connection.
    private(set) var retry: Duration?
    private var type = ""
    private var data: [Substring] = []

    init(lastEventID: String) {
        self.lastEventID = lastEventID
        id = lastEventID
    }

    /// The event that this line completes, if it does.
    mutating func take(_ line: String) -> ServerEvent? {
        guard line != EventBytes.endOfEvent else { return complete() }
        let parts = line.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        var bytes = parts.count > 1 ? parts[1] : parts[0].suffix(0)
        if bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
        let value = Substring(bytes)
        switch Substring(parts[0]) {
        case "data": data.append(value)
        case "event": type = String(value)
        case "id" where !value.unicodeScalars.contains("\0"): id = String(value)
        case "retry": if let milliseconds = UInt32(value) { retry = .milliseconds(milliseconds) }
        default: break  // a comment, or something newer than this program
        }
        return nil
    }

    /// Forgets an event that its connection broke off in.
    mutating func connectionEnded() {
        (type, data, id) = ("", [], lastEventID)
    }

    private mutating func complete() -> ServerEvent? {
        lastEventID = id
        defer { (type, data) = ("", []) }
        guard !data.isEmpty else { return nil }
        return ServerEvent(type: type.isEmpty ? "message" : type, data: data.joined(separator: "\n"), id: lastEventID)
    }
}

/// The bytes of an event stream, with a line of its own where an event ends: an empty line says so, and `lines` leaves those out.
struct EventBytes: AsyncSequence, Sendable {
    typealias Element = UInt8

    static let endOfEvent = "\u{4}"

    let bytes: URLSession.AsyncBytes

    func makeAsyncIterator() -> Iterator {
        Iterator(bytes: bytes.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        var bytes: URLSession.AsyncBytes.Iterator
        private var isAtLineStart = true
        private var wasReturn = false
        private var hasLineEndToGive = false

        init(bytes: URLSession.AsyncBytes.Iterator) {
            self.bytes = bytes
        }

        mutating func next() async throws -> UInt8? {
            if hasLineEndToGive {
                hasLineEndToGive = false
                return UInt8(ascii: "\n")
            }
            guard var byte = try await bytes.next() else { return nil }
            // Of CR LF, the CR has ended the line.
            if byte == UInt8(ascii: "\n"), wasReturn {
                guard let next = try await bytes.next() else { return nil }
                byte = next
            }
            wasReturn = byte == UInt8(ascii: "\r")
            let isLineEnd = wasReturn || byte == UInt8(ascii: "\n")
            defer { isAtLineStart = isLineEnd }
            guard isLineEnd, isAtLineStart else { return isLineEnd ? UInt8(ascii: "\n") : byte }
            hasLineEndToGive = true
            return 4
        }
    }
}
