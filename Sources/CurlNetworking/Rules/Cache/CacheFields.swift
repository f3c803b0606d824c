import Foundation

extension ResponseHead {
    /// As stored with the decoded body.
    var stored: ResponseHead {
        var stored = removing(CacheFields.unstorable(in: self))
        stored.fields = HeaderFields(stored.decodedFields.map { HeaderField(name: $0.key, value: $0.value) })
        return stored
    }
}

/// Which fields of a response a cache stores, and how it updates them (RFC 9111 §3.1, §3.2, §5.1).
enum CacheFields {
    /// The names, in lower case, of the fields that aren't stored because they concern one connection or proxy only.
    static func unstorable(in head: ResponseHead) -> Set<String> {
        connectionFields.union(CacheDirectives.names(in: head.combined("Connection")) ?? [])
    }

    /// RFC 9110 §7.6.1, and those of proxies in RFC 9111 §3.1.
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// The stored head after a 304 that arrived at `received`: its fields replace the stored ones, except for those that describe the stored
    /// body.
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

    /// Whether 304s have made the head larger than any that is received: each may have brought other fields.
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
        guard let tag = update["ETag"], tag != head["ETag"] else { return .updates }
        // Without a stored tag to compare, a weak one says no more than the date that was sent.
        guard let stored = head["ETag"] else { return tag.isWeakTag ? .updates : .contradicts }
        guard stored.opaqueTag == tag.opaqueTag else { return .contradicts }
        return tag.isWeakTag ? .updates : .keeps
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
    fileprivate var isWeakTag: Bool { hasPrefix("W/") }

    fileprivate var opaqueTag: Substring { isWeakTag ? dropFirst(2) : self[...] }
}
