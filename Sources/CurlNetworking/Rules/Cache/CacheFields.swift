import Foundation

extension ResponseHead {
    /// The head as stored with the decoded body.
    var stored: ResponseHead {
        // Decoded first: Transfer-Encoding, which isn't stored, says whether the length is the body's.
        let fields = decodedFields.map { HeaderField(name: $0.key, value: $0.value) }
        return ResponseHead(version: version, status: status, fields: fields).removing(CacheFields.unstorable(in: self))
    }
}

/// Which fields of a response a cache stores, and how it updates them (RFC 9111 §3.1, §3.2, §5.1).
enum CacheFields {
    /// The names, in lower case, of the fields that aren't stored because they concern one connection or proxy only.
    static func unstorable(in head: ResponseHead) -> Set<String> {
        connectionFields.union(ListField.names(in: head.combined("Connection")) ?? [])
    }

    /// RFC 9110 §7.6.1, and those of proxies in RFC 9111 §3.1.
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// The stored head after a 304 that arrived at `received`: its fields replace the stored ones, except for those that describe the
    /// stored body.
    static func updated(_ head: ResponseHead, with update: ResponseHead, received: Date) -> ResponseHead {
        let excepted = unstorable(in: update).union(bodyFields)
        var news = update.removing(excepted).fields
        // A response without a date gets the time of receipt (RFC 9110 §6.6.1).
        if update["Date"] == nil { news.append(HeaderField(name: "Date", value: HTTPDate.text(of: received))) }
        // The stored age doesn't apply to the new response.
        var updated = head.removing(Set(news.map { $0.name.lowercased() }).union(["age"]))
        updated.fields += news
        return updated
    }

    /// Whether 304s have made the head larger than any received one may be: each may have added fields.
    static func areTooMany(in head: ResponseHead) -> Bool {
        head.fields.count > HeadParser.maximumFields || head.fields.byteCount > HeadParser.maximumSize
    }

    /// The body is stored decoded and complete.
    private static let bodyFields: Set<String> = ["content-length", "content-encoding", "content-range"]

    /// What a 304 says about the stored response.
    enum Confirmation: Equatable, Sendable {
        /// It is still current; its fields are updated.
        case updates
        /// It is still current, but can't be updated because the 304 has a strong tag and it a weak one (§4.3.4).
        case keeps
        /// The 304 is about another response.
        case contradicts
    }

    static func confirmation(of head: ResponseHead, by update: ResponseHead) -> Confirmation {
        switch (head["ETag"], update["ETag"]) {
        case (let stored?, let tag?):
            guard stored.opaqueTag.hasSameBytes(as: tag.opaqueTag) else { return .contradicts }
            return tag.isWeakTag || !stored.isWeakTag ? .updates : .keeps
        case (nil, let tag?) where !tag.isWeakTag:
            return .contradicts
        default:
            // Without two tags to compare, the dates decide.
            guard let stored = head["Last-Modified"], let date = update["Last-Modified"] else { return .updates }
            return isSameDate(stored, date) ? .updates : .contradicts
        }
    }

    /// Values that aren't dates are compared as text.
    private static func isSameDate(_ a: String, _ b: String) -> Bool {
        guard !a.hasSameBytes(as: b) else { return true }
        guard let a = HTTPDate.parse(a), let b = HTTPDate.parse(b) else { return false }
        return a == b
    }

    /// Whether `head`, the response to a HEAD, is about a representation other than a stored response to GET (§4.3.5).
    static func isOther(_ head: ResponseHead, than stored: ResponseHead) -> Bool {
        if head.status != stored.status { return true }
        if let tag = head["ETag"]?.opaqueTag, stored["ETag"].map({ !$0.opaqueTag.hasSameBytes(as: tag) }) ?? true {
            return true
        }
        if let date = head["Last-Modified"], stored["Last-Modified"].map({ !isSameDate($0, date) }) ?? true {
            return true
        }
        // A coded body is stored decoded, with another length or none.
        guard !head.isContentCoded, !stored.isContentCoded, let length = head.contentLength,
            let storedLength = stored.contentLength
        else { return false }
        return length != storedLength
    }

    /// `head` as delivered without asking the server, with the response's age (§5.1).
    static func aged(_ head: ResponseHead, by age: TimeInterval) -> ResponseHead {
        var aged = head
        aged.fields.removeAll("Age")
        // An unknown age isn't stated.
        if age.isFinite {
            aged.fields.append(HeaderField(name: "Age", value: "\(Int(min(max(0, age), 2_147_483_648)))"))
        }
        return aged
    }
}

/// Of an entity tag (RFC 9110 §8.8.3).
extension String {
    fileprivate var isWeakTag: Bool { begins(with: "W/") }

    fileprivate var opaqueTag: String { isWeakTag ? String(Substring(utf8.dropFirst(2))) : self }
}
