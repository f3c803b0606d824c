import Foundation

/// The status line and fields of a response (RFC 9112 §2.1), in the order of arrival.
struct ResponseHead: Sendable, Equatable, Codable {
    /// Such as "HTTP/1.1" or "HTTP/2".
    var version: String
    var status: Int
    var fields: HeaderFields

    init(version: String, status: Int, fields: HeaderFields) {
        (self.version, self.status, self.fields) = (version, status, fields)
    }

    init(version: String, status: Int, fields: [HeaderField]) {
        self.init(version: version, status: status, fields: HeaderFields(fields))
    }

    /// The status and fields of `response`, which doesn't have its version.
    init(_ response: HTTPURLResponse, version: String = "HTTP/1.1") {
        let fields = response.allHeaderFields.map { HeaderField(name: "\($0.key)", value: "\($0.value)") }
        self.init(version: version, status: response.statusCode, fields: fields)
    }

    /// In place of "HTTP/1.1", if an FTP server's replies were translated into a head.
    static let versionOfFTP = "FTP"

    var isOfFTP: Bool { version == Self.versionOfFTP }
    var isOfHTTP1: Bool { version.begins(with: "HTTP/1") }
    var isOfHTTP2: Bool { version.begins(with: "HTTP/2") }

    /// The value of the first field of that name, in any case.
    subscript(name: String) -> String? { fields[name] }

    /// The head without the fields in `names`, which are in lower case.
    func removing(_ names: Set<String>) -> ResponseHead {
        var head = self
        head.fields.removeAll { names.contains($0.name.lowercased()) }
        return head
    }

    /// The values of all fields of that name, in any case, joined by commas (RFC 9110 §5.3); nil if there is none.
    func combined(_ name: String) -> String? {
        guard let first = fields.index(of: name) else { return nil }
        guard fields.index(of: name, from: first + 1) != nil else { return fields.value(at: first) }
        return fields.values(of: name).joined(separator: ", ")
    }

    /// The fields for the body as it is delivered: without a length that isn't its own, because it was coded or chunked (RFC 9112 §6.3),
    /// and with a length that the server repeated as a single number (RFC 9110 §8.6).
    var decodedFields: [String: String] {
        var combined = fields.combined
        guard let index = fields.index(of: "Content-Length") else { return combined }
        if isContentCoded || isChunked {
            combined[fields.name(at: index)] = nil
        } else if fields.number(at: index) == nil || fields.index(of: "Content-Length", from: index + 1) != nil,
            let length = repeatedLength
        {
            combined[fields.name(at: index)] = "\(length)"
        }
        return combined
    }

    /// Content-Length, if it is there, one valid number, and not overridden by chunks (RFC 9112 §6.3).
    var contentLength: Int64? {
        guard let index = fields.index(of: "Content-Length"), let length = fields.number(at: index) ?? repeatedLength
        else { return nil }
        return isChunked ? nil : length
    }

    /// The number in a Content-Length that is a list of equal ones, which a recipient may take for one (RFC 9110 §8.6).
    private var repeatedLength: Int64? {
        guard let lengths = tokens(of: "Content-Length"), let first = lengths.first else { return nil }
        return lengths.allSatisfy { $0 == first } ? Int64(digits: first.utf8) : nil
    }

    /// Whether it is unknown where the body ends: the lengths aren't one number, or one too large, or a transfer coding lets the body
    /// extend to the connection's end (RFC 9112 §6.3).
    var hasContradictingLengths: Bool {
        guard let first = fields.index(of: "Content-Length") else { return false }
        if fields.contains("Transfer-Encoding") { return !isChunked }
        var isOneNumber = fields.number(at: first) != nil
        var last = first
        while isOneNumber, let next = fields.index(of: "Content-Length", from: last + 1) {
            isOneNumber = fields.haveSameValue(first, next)
            last = next
        }
        // The same number several times may also be one list.
        return !isOneNumber && repeatedLength == nil
    }

    /// Whether other recipients may see the body's end elsewhere: there are chunks and a length, or chunks in HTTP/1.0, which has none.
    /// Later bytes on the connection may be meant to pass for another response (RFC 9112 §6.1, §6.3).
    var hasDoubtfulEnd: Bool {
        fields.contains("Transfer-Encoding") && (fields.contains("Content-Length") || version == "HTTP/1.0")
    }
}

extension ResponseHead {
    /// The parts of a `Content-Range` field (RFC 9110 §14.4), for bytes.
    struct ContentRange: Equatable {
        /// nil if the range wasn't satisfiable.
        var bytes: ClosedRange<Int64>?
        /// nil if the server doesn't know it.
        var completeLength: Int64?
    }

    var contentRange: ContentRange? {
        guard let field = self["Content-Range"] else { return nil }
        let words = field.split(separator: " ", maxSplits: 1)
        guard words.count == 2, String(words[0]).isEqualIgnoringASCIICase(to: "bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let completeLength = Int64(digits: parts[1].utf8)
        guard completeLength != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" { return ContentRange(bytes: nil, completeLength: completeLength) }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int64(digits: $0.utf8) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        return ContentRange(bytes: first...last, completeLength: completeLength)
    }
}

extension String {
    // Uses contiguous bytes, which are several times faster than the view and than characters.

    func begins(with prefix: StaticString) -> Bool {
        var text = self
        return text.withUTF8 { UnsafeRawBufferPointer($0).hasPrefix(prefix) }
    }

    func isEqualIgnoringASCIICase(to other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (a, b) = (self, other)
        return a.withUTF8 { a in b.withUTF8 { b in a.startsIgnoringASCIICase(with: b) } }
    }

    /// The name of the field that it is a line of; see `isLine(ofField:)`.
    var fieldName: Substring { prefix { $0 != ":" && $0 != ";" } }

    /// Whether it is a line of the field `name`, in any case, as libcurl takes one: "Name: value", or "Name;" for an empty value.
    func isLine(ofField name: String) -> Bool {
        guard utf8.count > name.utf8.count else { return false }
        var (line, name) = (self, name)
        return line.withUTF8 { line in
            name.withUTF8 { name in
                let separator = line[name.count]
                guard separator == UInt8(ascii: ":") || separator == UInt8(ascii: ";") else { return false }
                return line.startsIgnoringASCIICase(with: name)
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// `prefix` isn't longer than this.
    func startsIgnoringASCIICase(with prefix: UnsafeBufferPointer<UInt8>) -> Bool {
        for index in prefix.indices where self[index] != prefix[index] {
            guard self[index] ^ prefix[index] == 0x20, (self[index] | 0x20).isASCIILowercaseLetter else { return false }
        }
        return true
    }
}

extension UInt8 {
    fileprivate var isASCIILowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}

extension ResponseHead {
    /// The head as a program sees it.
    func response(at url: URL) -> URLResponse { HTTPURLResponse(self, at: url) ?? .unknown(at: url) }
}

extension URLError {
    /// The error for a body without a head.
    static func noResponse(_ url: URL?) -> URLError {
        URLError(.badServerResponse, url: url, "The body is over, and there was no response.")
    }

    /// The error for `HeadParser.Event.malformed` after the head.
    static func largeTrailers(_ url: URL?) -> URLError {
        URLError(
            .badServerResponse,
            url: url,
            "The response's trailers are larger than \(HeadParser.maximumSize / 1024) KiB."
        )
    }

    /// The error for a head from which no response can be made.
    static func senselessHead(_ url: URL?) -> URLError {
        URLError(.badServerResponse, url: url, "The response's head makes no sense.")
    }

    /// The error for `HeadParser.Event.malformed`.
    static func invalidHead(_ url: URL?) -> URLError {
        let (size, fields) = (HeadParser.maximumSize / 1024, HeadParser.maximumFields)
        let limits = "larger than \(size) KiB, or has more than \(fields) fields"
        return URLError(.badServerResponse, url: url, "The response's head is not valid, \(limits).")
    }
}

extension URLResponse {
    /// Stands in for an `HTTPURLResponse` whose initialiser failed: it is declared to, though FoundationNetworking's doesn't.
    static func unknown(at url: URL) -> URLResponse {
        URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }
}

extension HTTPURLResponse {
    convenience init?(_ head: ResponseHead, at url: URL) {
        self.init(url: url, statusCode: head.status, httpVersion: head.version, headerFields: head.decodedFields)
    }
}
