import CurlTransport
import Foundation

/// A request with an `Upgrade` field, written to a channel piece by piece. Loop only.
final class UpgradeRequest {
    enum Step {
        /// There is more, once the channel has sent its output.
        case wrote
        /// The body has no bytes at the moment, and will report when it does.
        case waits
        case complete
    }

    private let head: RequestHead
    /// Closed by this object.
    private var body: (any RequestBody)?
    private(set) var isComplete = false
    /// How many bytes of the body have been sent.
    private(set) var sentCount: Int64 = 0

    init(_ head: RequestHead, body: (any RequestBody)?) {
        var head = head
        if let body {
            let framing = body.length.map { ("Content-Length", String($0)) } ?? ("Transfer-Encoding", "chunked")
            head.fields.append(HeaderField(name: framing.0, value: framing.1))
        }
        self.head = head
        self.body = body
    }

    var text: String { head.text }
    var hasBody: Bool { body != nil }

    private var isChunked: Bool { body.map { $0.length == nil } ?? false }
    /// The most that is read at once, in bytes.
    private static let piece = 64 * 1024
    /// The length of a chunk's size, written with 8 digits, and its line end.
    private static let chunkHead = 10

    /// Adds the next bytes of the body to the channel's output.
    func write(to channel: Channel) throws(URLError) -> Step {
        guard !isComplete else { return .complete }
        guard let body else { return end() }
        var buffer = [UInt8](repeating: 0, count: Self.piece + Self.chunkHead + 2)
        let start = isChunked ? Self.chunkHead : 0
        let read = try buffer.withUnsafeMutableBytes { buffer in
            Result { () throws(URLError) in
                try body.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[start..<(start + Self.piece)]))
            }
        }.get()
        guard case .bytes(let count) = read else { return .waits }
        sentCount += Int64(count)
        if isChunked {
            buffer.replaceSubrange(..<start, with: Array("\(UInt32(count).paddedHex)\r\n".utf8))
            buffer.replaceSubrange((start + count)..<(start + count + 2), with: Array("\r\n".utf8))
            buffer[..<(start + count + 2)].withUnsafeBytes { channel.send($0) }
        } else {
            buffer[..<count].withUnsafeBytes { channel.send($0) }
        }
        return count == 0 || sentCount == body.length ? end() : .wrote
    }

    private func end() -> Step {
        abandon()
        return .complete
    }

    /// Drops the rest of the body.
    func abandon() {
        isComplete = true
        close()
    }

    /// Nothing more is sent after this.
    func close() {
        body.take()?.close()
    }
}

extension URLRequest {
    /// Whether it has an `Upgrade` field, which only HTTP/1.1 knows (RFC 9110 §7.8).
    var asksForUpgrade: Bool { value(forHTTPHeaderField: "Upgrade")?.isEmpty == false }
}
