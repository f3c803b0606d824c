import Foundation

/// Something that happened to a task, for its delegate. Nothing waits for an answer.
enum TaskEvent: Sendable {
    /// A download continues at this offset, in bytes.
    case resumed(offset: Int64, expectedTotalBytes: Int64)
    /// The data task has become a download task.
    case becameDownload(from: URLSessionDataTask)
    case sent(SentBytes)
    /// The next bytes of the body.
    case body(Data)
    /// Bytes in the download's file, in total.
    case wrote(Int64)
    /// The host can't be reached at the moment.
    case isWaitingForConnectivity
    /// The data task has become a stream task.
    case becameStream(from: URLSessionDataTask)
    /// Nothing more is read from a stream task's connection.
    case readClosed
    /// Nothing more is written to it.
    case writeClosed
    /// The connection is the program's, and the task is over.
    case captured(CapturedStreams)
    /// An informational response to the request has arrived (RFC 9110 §15.2).
    case informational(ResponseHead, to: URLRequest)
    /// The web socket is open.
    case openedWebSocket(subprotocol: String?)
    /// The server has closed the web socket, or has answered our close.
    case closedWebSocket(code: Int, reason: Data)

    /// How much of a request's body has been sent.
    struct SentBytes: Hashable, Codable, Sendable {
        var total: Int64
        var expected: Int64
        /// Which of the task's requests it is, counting from 1.
        var request: Int
        /// Whether that request sends the rest of a body, and the count continues. nil for no.
        var isRest: Bool?
    }
}

/// The events that another process can send. Of an informational response's request only the URL is sent, so no secrets go with it. A data
/// task's conversion, and what happens to a stream task, concern only objects of one process.
extension TaskEvent: Codable {
    private enum Key: String, CodingKey {
        case resumed, expected, sent, body, wrote, isWaitingForConnectivity, informational, url
        case openedWebSocket, subprotocol, closedWebSocket, reason
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .resumed(let offset, let expected):
            try container.encode(offset, forKey: .resumed)
            try container.encode(expected, forKey: .expected)
        case .becameDownload, .becameStream, .readClosed, .writeClosed, .captured:
            let description = "An event within one process can't be sent to another."
            throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: description))
        case .sent(let sent): try container.encode(sent, forKey: .sent)
        case .body(let data): try container.encode(data, forKey: .body)
        case .wrote(let total): try container.encode(total, forKey: .wrote)
        case .isWaitingForConnectivity: try container.encode(true, forKey: .isWaitingForConnectivity)
        case .informational(let head, let request):
            try container.encode(head, forKey: .informational)
            try container.encodeIfPresent(request.url, forKey: .url)
        case .openedWebSocket(let subprotocol):
            try container.encode(true, forKey: .openedWebSocket)
            try container.encodeIfPresent(subprotocol, forKey: .subprotocol)
        case .closedWebSocket(let code, let reason):
            try container.encode(code, forKey: .closedWebSocket)
            try container.encode(reason, forKey: .reason)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if container.contains(.resumed) {
            self = .resumed(
                offset: try container.decodeCount(forKey: .resumed),
                expectedTotalBytes: try container.decode(Int64.self, forKey: .expected)
            )
        } else if let sent = try container.decodeIfPresent(SentBytes.self, forKey: .sent) {
            self = .sent(sent)
        } else if let data = try container.decodeIfPresent(Data.self, forKey: .body) {
            self = .body(data)
        } else if let total = try container.decodeIfPresent(Int64.self, forKey: .wrote) {
            self = .wrote(total)
        } else if container.contains(.isWaitingForConnectivity) {
            self = .isWaitingForConnectivity
        } else if container.contains(.openedWebSocket) {
            self = .openedWebSocket(subprotocol: try container.decodeIfPresent(String.self, forKey: .subprotocol))
        } else if let code = try container.decodeIfPresent(Int.self, forKey: .closedWebSocket) {
            self = .closedWebSocket(code: code, reason: try container.decode(Data.self, forKey: .reason))
        } else {
            let head = try container.decode(ResponseHead.self, forKey: .informational)
            self = .informational(head, to: URLRequest(url: try container.decode(URL.self, forKey: .url)))
        }
    }
}
