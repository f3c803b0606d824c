import Foundation

extension ResponseHead {
    /// As a cache keeps it, beside the decoded body.
    var stored: ResponseHead {
        var stored = CacheFields.removing(CacheFields.unstorable(in: self), from: self)
        stored.fields = stored.decodedFields.map { HeaderField(name: $0.key, value: $0.value) }
        return stored
    }
}

/// Which fields of a response a cache keeps, and how it brings them up to date (RFC 9111 §3.1, §3.2, §5.1).
enum CacheFields {
    /// The fields of `head` that concern one connection or proxy alone, in lower case: they are not stored.
    static func unstorable(in head: ResponseHead) -> Set<String> {
        let listed = head.combined("Connection").map(CacheDirectives.elements) ?? []
        return connectionFields.union(listed.map { $0.trimmed.lowercased() })
    }

    /// `head` without the fields of those names.
    static func removing(_ names: Set<String>, from head: ResponseHead) -> ResponseHead {
        var head = head
        head.fields.removeAll { names.contains($0.name.lowercased()) }
        return head
    }

    /// RFC 9110 §7.6.1, and §3.1's of proxies.
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// The stored head after a 304 that arrived at `received`: its fields replace the stored ones, but for those that tell how the stored
    /// body is to be read.
    static func updated(_ head: ResponseHead, with update: ResponseHead, received: Date) -> ResponseHead {
        let excepted = unstorable(in: update).union(bodyFields)
        var news = removing(excepted, from: update).fields
        // Who gets a response without a date gives it the time of receipt (RFC 9110 §6.6.1).
        if update["Date"] == nil { news.append(HeaderField(name: "Date", value: HTTPDate.text(of: received))) }
        var updated = head
        // An age is that of one response, and not of another that has none.
        updated.fields.removeAll { field in news.contains(field.name) || field.name.isEqualIgnoringASCIICase(to: "Age")
        }
        updated.fields += news
        return updated
    }

    /// The body is stored decoded, and whole.
    private static let bodyFields: Set<String> = ["content-length", "content-encoding", "content-range"]

    /// What a 304 says of the response that it was asked about.
    enum Confirmation: Equatable, Sendable {
        /// It is still the one, and has changed fields.
        case updates
        /// It is still the one, but another strong tag keeps it from being updated (§4.3.4).
        case keeps
        /// It is about another.
        case contradicts
    }

    static func confirmation(of head: ResponseHead, by update: ResponseHead) -> Confirmation {
        guard let tag = update["ETag"], !tag.hasPrefix("W/"), tag != head["ETag"] else { return .updates }
        return head["ETag"] == "W/" + tag ? .keeps : .contradicts
    }

    /// `head` as it is delivered without asking the server, with the age of the response (§5.1).
    static func aged(_ head: ResponseHead, by age: TimeInterval) -> ResponseHead {
        var aged = head
        aged.fields.removeAll { $0.name.isEqualIgnoringASCIICase(to: "Age") }
        // Where nothing tells the age nothing is said.
        if age.isFinite {
            aged.fields.append(HeaderField(name: "Age", value: "\(Int(min(max(0, age), 2_147_483_648)))"))
        }
        return aged
    }
}
