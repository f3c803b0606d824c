import Foundation

extension LoopbackServer {
    /// What the server does in answer to a request: a message that the server frames, or steps taken as they are.
    ///
    ///     .text("Hello")
    ///     .generated(length: 1 << 30).throttled(bytesPerSecond: 100_000)
    ///     .status(503).header("Retry-After", "1").closing()
    ///     .raw([.bytes("HTTP/1.1 200 OK\r\n"), .waitFor(gate), .bytes("Content-Length: 0\r\n\r\n")])
    package struct Response: Sendable {
        enum Content: Sendable {
            case message(Message)
            case steps([Step])
        }

        /// How the client finds the end of the body.
        enum Framing: Sendable {
            case contentLength
            case chunked(size: Int64, trailers: [Field])
            case untilClose
        }

        struct Message: Sendable {
            var status: Int
            var reason: String
            var headers: [Field] = []
            var body: [Step] = []
            var framing = Framing.contentLength
            var keepsAlive = true
            var bytesPerSecond: Int?
        }

        var content: Content
        /// Performed before the first byte.
        var preceding: [Step] = []

        init(_ content: Content) {
            self.content = content
        }

        init(status: Int = 200, headers: [Field] = [], body: [Step] = []) {
            content = .message(Message(status: status, reason: statusText(status), headers: headers, body: body))
        }
    }
}

// MARK: - Messages

extension LoopbackServer.Response {
    /// A status and an empty body.
    package static func status(_ status: Int, reason: String? = nil) -> Self {
        let response = Self(status: status)
        return response.changing { if let reason { $0.reason = reason } }
    }

    package static func text(
        _ text: String,
        status: Int = 200,
        contentType: String = "text/plain; charset=utf-8"
    ) -> Self {
        .data(Data(text.utf8), status: status, contentType: contentType)
    }

    package static func data(
        _ data: Data,
        status: Int = 200,
        contentType: String? = "application/octet-stream"
    ) -> Self {
        .body(.data(data), status: status, contentType: contentType)
    }

    /// The value as JSON, its keys in alphabetical order.
    package static func json(_ value: some Encodable, status: Int = 200) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return .status(500) }
        return .data(data, status: status, contentType: "application/json")
    }

    package static func body(
        _ body: LoopbackServer.Body,
        status: Int = 200,
        contentType: String? = "application/octet-stream"
    ) -> Self {
        let headers = contentType.map { [(name: "Content-Type", value: $0)] } ?? []
        return Self(status: status, headers: headers, body: [.body(body)])
    }

    /// Bytes made on demand; see `Body.produced`.
    package static func body(
        length: Int64,
        contentType: String? = "application/octet-stream",
        produce: @escaping @Sendable (Range<Int64>) -> Data
    ) -> Self {
        .body(.produced(length: length, produce), contentType: contentType)
    }

    /// `GeneratedBody.bytes(seed:range:)`, as many as `length`.
    package static func generated(length: Int64, seed: UInt64 = 0) -> Self {
        .body(.generated(length: length, seed: seed))
    }

    /// - Parameter location: Goes into the header as it is; may be relative.
    package static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status).header("Location", location)
    }

    package static func redirect(to location: URL, status: Int = 302) -> Self {
        redirect(to: location.absoluteString, status: status)
    }

    /// A body in pieces: its length is that of all `.bytes` and `.body` steps, and the other steps are performed between
    /// them. After `.close`, `.reset` or `.never` the client misses the rest.
    package static func pieces(
        _ steps: [LoopbackServer.Step],
        contentType: String? = "application/octet-stream"
    ) -> Self {
        let headers = contentType.map { [(name: "Content-Type", value: $0)] } ?? []
        return Self(headers: headers, body: steps)
    }

    /// Chunked transfer coding: each `.bytes` and `.body` step becomes one chunk, and the other steps are performed
    /// between the chunks.
    package static func chunked(
        _ steps: [LoopbackServer.Step],
        trailers: KeyValuePairs<String, String> = [:],
        contentType: String? = "application/octet-stream"
    ) -> Self {
        .pieces(steps, contentType: contentType).changing {
            $0.framing = .chunked(size: .max, trailers: trailers.map { (name: $0.key, value: $0.value) })
        }
    }

    /// Chunked transfer coding with these chunks.
    package static func chunked(
        _ chunks: [String],
        trailers: KeyValuePairs<String, String> = [:],
        contentType: String? = "text/plain; charset=utf-8"
    ) -> Self {
        .chunked(chunks.map { .bytes($0) }, trailers: trailers, contentType: contentType)
    }

    /// Chunked transfer coding of a large body, in chunks of `size` bytes.
    package static func chunked(
        _ body: LoopbackServer.Body,
        size: Int64 = 64 * 1024,
        trailers: KeyValuePairs<String, String> = [:],
        contentType: String? = "application/octet-stream"
    ) -> Self {
        .chunked([.body(body)], trailers: trailers, contentType: contentType).changing {
            $0.framing = .chunked(size: size, trailers: trailers.map { (name: $0.key, value: $0.value) })
        }
    }

    /// Steps performed as they are, with nothing added. When they have been, and none has closed the connection, the
    /// next request on it is answered.
    package static func raw(_ steps: [LoopbackServer.Step]) -> Self {
        Self(.steps(steps))
    }

    /// Reads the request and keeps silent.
    package static var never: Self { .raw([.never]) }
}

// MARK: - Changes

extension LoopbackServer.Response {
    /// Adds a header field. One named `Date`, `Content-Length`, `Transfer-Encoding` or `Connection` replaces the server's own, so a
    /// wrong length can be claimed. No effect on `.raw`.
    package func header(_ name: String, _ value: String) -> Self {
        changing { $0.headers.append((name: name, value: value)) }
    }

    /// Adds header fields in this order.
    package func headers(_ fields: KeyValuePairs<String, String>) -> Self {
        changing { $0.headers += fields.map { (name: $0.key, value: $0.value) } }
    }

    /// Says `Connection: close` and closes after the body. No effect on `.raw`.
    package func closing() -> Self {
        changing { $0.keepsAlive = false }
    }

    /// Gives no length: the body ends where the connection does. No effect on `.raw`.
    package func untilClose() -> Self {
        changing { $0.framing = .untilClose }
    }

    /// Sends the body at this rate at most. No effect on `.raw`; use `Step.throttle` there.
    package func throttled(bytesPerSecond: Int) -> Self {
        changing { $0.bytesPerSecond = bytesPerSecond }
    }

    /// Sends this many bytes of the body, and the rest only when the gate is open. A body that isn't longer is sent whole. No effect on
    /// `.raw`.
    package func held(after count: Int64, until gate: Gate) -> Self {
        changing { message in
            var rest: Int64? = count
            message.body = message.body.flatMap { step -> [LoopbackServer.Step] in
                guard let count = rest, let payload = step.payload else { return [step] }
                guard payload.length > count else {
                    rest = count - payload.length
                    return [step]
                }
                rest = nil
                return [.body(payload[0..<count]), .waitFor(gate), .body(payload[count..<payload.length])]
            }
        }
    }

    /// Performs steps before the first byte, for example `.pause` or `.waitFor`.
    package func after(_ steps: [LoopbackServer.Step]) -> Self {
        var response = self
        response.preceding = steps + preceding
        return response
    }

    func changing(_ change: (inout LoopbackServer.Response.Message) -> Void) -> Self {
        guard case .message(var message) = content else { return self }
        change(&message)
        var response = self
        response.content = .message(message)
        return response
    }
}
