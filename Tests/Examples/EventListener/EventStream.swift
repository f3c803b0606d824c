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
        guard !line.isEmpty else { return complete() }
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

/// The lines of an event stream, empty ones too: an event ends there. CR, LF and CR LF end a line, and nothing else does: `lines` would
/// split the text of events. A byte order mark at the beginning is no part of the first line, and what breaks off is no line.
struct EventLines: AsyncSequence, Sendable {
    let bytes: URLSession.AsyncBytes

    func makeAsyncIterator() -> Iterator {
        Iterator(bytes: bytes.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

        private var bytes: URLSession.AsyncBytes.Iterator
        private var isAtStart = true
        private var wasReturn = false

        init(bytes: URLSession.AsyncBytes.Iterator) {
            self.bytes = bytes
        }

        mutating func next() async throws -> String? {
            var line: [UInt8] = []
            while let byte = try await bytes.next() {
                // Of CR LF, the CR has ended the line.
                let isSecondHalf = wasReturn && byte == UInt8(ascii: "\n")
                wasReturn = byte == UInt8(ascii: "\r")
                if isSecondHalf { continue }
                guard wasReturn || byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                if isAtStart, line.starts(with: Self.byteOrderMark) { line.removeFirst(Self.byteOrderMark.count) }
                isAtStart = false
                return String(decoding: line, as: UTF8.self)
            }
            return nil
        }
    }
}
