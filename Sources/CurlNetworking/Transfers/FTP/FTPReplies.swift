import Foundation

/// Translates FTP replies (RFC 959 §4.2, RFC 3659), as libcurl passes them on, into the head that an HTTP server would have sent for the
/// same file, so that lengths, validators and ranges mean the same to the rest of the module.
///
/// libcurl sends MDTM before it opens the data connection, and SIZE and REST after it. If an HTTP proxy answers for the server, its head is
/// parsed as HTTP.
struct FTPReplies {
    private let offset: Int64
    /// Whether the head comes at the end, as an upload's does.
    private let comesAtEnd: Bool
    /// Whether the server's announcement may give the length of the data.
    private let mayAnnounceSize: Bool
    private var size: Int64?
    private var lastModified: String?
    private var hasDataConnection = false
    /// Whether a 213 would be MDTM's, even if its date can't be read. False once MDTM is answered or refused.
    private var awaitsDate = true
    private var proxy: HeadParser?
    private var isComplete = false
    /// How many bytes of data the head has announced; nil if there is no head yet, or it is a proxy's or an upload's, or doesn't say.
    private(set) var announcedLength: Int64?
    /// After how many bytes of data libcurl ends the transfer at the latest, because it misreads a reply; nil if it doesn't.
    private var misreadLength: Int64?
    /// Whether the server has answered a command.
    private(set) var hasAnswer = false
    /// The reply with which the server ended the session; nil if it hasn't.
    private(set) var farewell: String?

    init(offset: Int64 = 0, comesAtEnd: Bool = false, mayAnnounceSize: Bool = true) {
        self.offset = offset
        self.comesAtEnd = comesAtEnd
        self.mayAnnounceSize = mayAnnounceSize
    }

    /// Takes one or more lines: after a pause, libcurl delivers everything that arrived meanwhile at once.
    ///
    /// - Parameter isProxys: Whether a proxy sent them, over HTTP.
    mutating func consume(lines: UnsafeRawBufferPointer, isProxys: Bool) -> HeadParser.Event {
        if proxy != nil || (isProxys && !isComplete && lines.hasPrefix("HTTP/")) {
            let event = (proxy ?? HeadParser()).consuming(lines, into: &proxy)
            if case .complete = event { isComplete = true }
            return event
        }
        var rest = lines[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            let event = consume(line: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            guard case .incomplete = event else { return event }
            rest = rest[end...]
        }
        return .incomplete
    }

    private mutating func consume(line: UnsafeRawBufferPointer) -> HeadParser.Event {
        guard let (code, text) = reply(in: line) else { return .incomplete }
        if code == 421 { farewell = "\(code) \(text)" } else { hasAnswer = true }
        switch code {
        case _ where isComplete:
            break
        case 125, 150:
            if size == nil, mayAnnounceSize { readAnnouncement(text) }
            return dataBegins().map { .complete($0) } ?? .incomplete
        case 213:
            if !hasDataConnection, lastModified == nil, let date = Self.httpDate(text) {
                lastModified = date
            } else if !awaitsDate {
                readSize(text)
            }
            awaitsDate = false
        case 227, 229:
            (hasDataConnection, awaitsDate) = (true, false)
            // What looked like one was MDTM's reply.
            (size, misreadLength) = (nil, nil)
        // The login and the folder come before MDTM.
        case 230, 250, 257:
            awaitsDate = true
        case 400...:
            awaitsDate = false
        default:
            break
        }
        return .incomplete
    }

    /// Called when data arrives, even from a server that hasn't announced it. nil if the head has been reported already.
    mutating func dataBegins() -> ResponseHead? {
        guard !isComplete, proxy == nil, !comesAtEnd else { return nil }
        isComplete = true
        let head = head
        announcedLength = head.contentLength
        return head
    }

    /// Called when the transfer ended without a sign of data: an upload, a query for attributes, or a resumption with nothing left. nil if
    /// the head has been reported already. `isRefused` if the server won't start at the offset.
    mutating func finish(isRefused: Bool) -> ResponseHead? {
        guard !isComplete, proxy == nil else { return nil }
        isComplete = true
        guard offset > 0 else { return head }
        var head = ResponseHead(version: ResponseHead.versionOfFTP, status: 416, fields: [])
        if let size, !isRefused {
            head.fields.append(HeaderField(name: "Content-Range", value: "bytes */\(size)"))
        }
        if let lastModified { head.fields.append(HeaderField(name: "Last-Modified", value: lastModified)) }
        return head
    }

    /// Whether there may be more data than the `count` bytes with which libcurl is content: it may have taken another number in the server's
    /// replies for the length, and stopped there.
    func isCutShort(after count: Int64) -> Bool {
        count < announcedLength ?? 0 || count <= misreadLength ?? -1
    }

    private var head: ResponseHead {
        var head = ResponseHead(version: ResponseHead.versionOfFTP, status: offset > 0 ? 206 : 200, fields: [])
        if let lastModified { head.fields.append(HeaderField(name: "Last-Modified", value: lastModified)) }
        if comesAtEnd {
            head.fields.append(HeaderField(name: "Content-Length", value: "0"))
        } else if let size, size >= offset {
            head.fields.append(HeaderField(name: "Content-Length", value: "\(size - offset)"))
            if size > offset, offset > 0 {
                let range = "bytes \(offset)-\(size - 1)/\(size)"
                head.fields.append(HeaderField(name: "Content-Range", value: range))
            }
        }
        return head
    }

    // MARK: - Lines

    /// A complete reply: its code and the text of its last line. The text of earlier lines is ignored. To libcurl, every line with a code
    /// and a space is a reply's last, whichever code it began with.
    private func reply(in line: UnsafeRawBufferPointer) -> (code: Int, text: String)? {
        guard line.count >= 4, line[3] == UInt8(ascii: " "), line[..<3].allSatisfy(\.isASCIIDigit),
            let code = Int(String(decoding: line[..<3], as: UTF8.self))
        else { return nil }
        return (code, String(decoding: line[4...], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// libcurl takes the digits at the end of SIZE's reply for the length, whatever is before them: also those of "-1294967296", by which
    /// servers that count in 32 bits mean 3 GB.
    private mutating func readSize(_ text: String) {
        let start = text.utf8.lastIndex { !$0.isASCIIDigit }
        guard let value = Int64(digits: text.utf8[(start.map { text.utf8.index(after: $0) } ?? text.startIndex)...])
        else { return }
        if let start, text.utf8[start].isASCIIAlphanumeric || "-.,".utf8.contains(text.utf8[start]) {
            // To libcurl, 0 isn't a length.
            misreadLength = value > 0 ? max(0, value - offset) : nil
        } else {
            size = value
        }
    }

    /// From a server without SIZE: "Opening BINARY mode data connection for name (123 bytes)". To libcurl, a length that is missing or too
    /// large is 0, or 1 in newer versions (seen with 8.14).
    private mutating func readAnnouncement(_ text: String) {
        size = Self.announcedSize(text)
        guard let end = text.utf8.firstRange(of: " bytes".utf8)?.lowerBound,
            let start = text.utf8[..<end].lastIndex(where: { !$0.isASCIIDigit }),
            text.utf8[start] == UInt8(ascii: "(")
        else { return }
        if Int64(digits: text.utf8[text.utf8.index(after: start)..<end]) == nil { misreadLength = 1 }
    }

    private static func announcedSize(_ text: String) -> Int64? {
        guard let open = text.utf8.lastIndex(of: UInt8(ascii: "(")) else { return nil }
        let digits = text.utf8[text.utf8.index(after: open)...].prefix { $0.isASCIIDigit }
        return text.utf8[digits.endIndex...].starts(with: " bytes".utf8) ? Int64(digits: digits) : nil
    }

    /// Converts "YYYYMMDDhhmmss", with or without a fraction (RFC 3659 §2.3), to an HTTP date (RFC 9110 §5.6.7); nil if it isn't a date.
    static func httpDate(_ text: String) -> String? {
        CivilTime(compact: text.utf8.prefix { $0 != UInt8(ascii: ".") })?.date.map(HTTPDate.text)
    }
}

extension HeadParser {
    /// The event for `lines`; stores the parser for the following lines in `next`.
    fileprivate func consuming(_ lines: UnsafeRawBufferPointer, into next: inout HeadParser?) -> Event {
        var parser = self
        defer { next = parser }
        return parser.consume(lines: lines)
    }
}
