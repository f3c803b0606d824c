import Foundation

extension LoopbackServer {
    /// A header field or trailer field.
    package typealias Field = (name: String, value: String)

    /// What the server received.
    package struct Request: Sendable {
        /// How much of the body has arrived.
        package enum BodyState: Sendable {
            case arriving
            case complete
            /// The client closed or reset the connection, or sent nonsense, before the body's end.
            case cutOff
        }

        /// 1 for the first request the server received; the place in `LoopbackServer.requests` plus one.
        package internal(set) var ordinal: Int
        /// Which TCP connection it came on, 1 for the first the server accepted.
        package internal(set) var connection: Int
        /// 1 for the first request on its connection.
        package internal(set) var ordinalOnConnection: Int

        package let method: String
        /// The request-target exactly as on the wire: origin-form, absolute-form (to a proxy) or authority-form.
        package let target: String
        /// For example `HTTP/1.1`.
        package let httpVersion: String
        /// Request line, header fields and empty line, byte for byte as on the wire.
        package let rawHead: Data

        /// The decoded body, at most the first `Options.bodyLimit` bytes of it.
        package internal(set) var body: Data
        /// The decoded body's length so far, stored or not.
        package internal(set) var bodyLength: Int64
        package internal(set) var bodyState: BodyState
        /// The trailer fields of a chunked body.
        package internal(set) var trailers: [Field] = []

        /// Whether the client keeps the connection open (RFC 9112, section 9.3).
        let keepsAlive: Bool

        /// A request that didn't come over a socket, for trying out a response. Doesn't check its arguments.
        package init(
            method: String = "GET",
            target: String = "/",
            httpVersion: String = "HTTP/1.1",
            headers: KeyValuePairs<String, String> = [:],
            body: Data = Data()
        ) {
            ordinal = 1
            connection = 1
            ordinalOnConnection = 1
            self.method = method
            self.target = target
            self.httpVersion = httpVersion
            let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            rawHead = Data("\(method) \(target) \(httpVersion)\r\n\(fields)\r\n".utf8)
            self.body = body
            bodyLength = Int64(body.count)
            bodyState = .complete
            keepsAlive = httpVersion == "HTTP/1.1"
        }

        init(head: RequestHead, connection: Int, ordinalOnConnection: Int) {
            ordinal = 0
            self.connection = connection
            self.ordinalOnConnection = ordinalOnConnection
            method = head.method
            target = head.target
            httpVersion = head.httpVersion
            rawHead = head.raw
            body = Data()
            bodyLength = 0
            bodyState = .arriving
            keepsAlive = head.keepsAlive
        }
    }
}

extension LoopbackServer.Request {
    /// The header fields in the order and case they were sent in. Read from `rawHead` each time.
    package var headers: [LoopbackServer.Field] {
        fields { _ in true }
    }

    /// The value of the first field of this name, whatever its case.
    package func header(_ name: String) -> String? {
        fields(limit: 1) { $0.isSame(as: name) }.first?.value
    }

    /// The values of all fields of this name, in order.
    package func headers(named name: String) -> [String] {
        fields { $0.isSame(as: name) }.map(\.value)
    }

    private func fields(
        limit: Int = .max,
        where isWanted: (UnsafeRawBufferPointer) -> Bool
    ) -> [LoopbackServer.Field] {
        rawHead.withUnsafeBytes { bytes in
            var lines = bytes
            _ = lines.takeLine()  // the request line
            var fields: [LoopbackServer.Field] = []
            while fields.count < limit, let line = lines.takeLine(), let (name, value) = try? line.field() {
                if isWanted(name) { fields.append((name: name.string, value: value.string)) }
            }
            return fields
        }
    }

    /// The target without scheme, authority, query and fragment. Not percent-decoded.
    package var path: String {
        let end = origin.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return String(origin[..<(end ?? origin.endIndex)])
    }

    /// What follows the first `?`, not percent-decoded.
    package var query: String? {
        guard let mark = origin.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return String(origin[origin.utf8.index(after: mark)...].prefix { $0 != "#" })
    }

    /// The percent-decoded value of the first query item of this name; empty if it has none.
    package func parameter(_ name: String) -> String? {
        guard let query else { return nil }
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard String(parts[0]).removingPercentEncoding == name else { continue }
            return parts.count == 1 ? "" : String(parts[1]).removingPercentEncoding
        }
        return nil
    }

    /// The body as UTF-8.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The target in origin-form.
    private var origin: Substring {
        guard target.utf8.first != UInt8(ascii: "/"), let scheme = target.range(of: "://") else { return target[...] }
        let rest = target[scheme.upperBound...]
        guard let slash = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return rest[slash...]
    }
}
