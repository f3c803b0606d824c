import Foundation

@testable import CurlNetworking

/// Heads of responses, and the fields in them.
extension FuzzTarget {
    static let http = [
        FuzzTarget("response-head") { bytes in
            var parser = HeadParser()
            guard case .complete(let head) = parser.consume(lines: bytes) else { return }
            precondition(head.status >= 200 || head.status == 101)
            readEverything(in: head)
        },
        FuzzTarget("ftp-replies") { bytes in
            for (offset, isProxys) in [(0, false), (1000, false), (0, true)] as [(Int64, Bool)] {
                var replies = FTPReplies(offset: offset)
                _ = replies.consume(lines: bytes, isProxys: isProxys)
                guard let head = replies.finish(isRefused: false) else { continue }
                precondition([200, 206, 416].contains(head.status))
                readEverything(in: head)
            }
        },
        FuzzTarget(
            "set-cookie",
            text: { text in
                if let note = CookieNote(text) { precondition(CookieNote(note.comment) == note) }
                guard let cookie = SetCookieParser.parse(text, now: now) else { return }
                precondition(!cookie.name.isEmpty && cookie.name.utf8.count + cookie.value.utf8.count <= 4096)
                precondition(!(cookie.name + cookie.value).utf8.contains { $0 < 0x20 && $0 != 0x09 })
                _ = CookieField.merge(Substring(text), with: "\(cookie.name)=\(cookie.value)")
            }
        ),
        FuzzTarget(
            "authentication",
            text: { text in
                for challenge in AuthenticationField.challenges(in: [text]) {
                    guard let digest = DigestChallenge(challenge) else { continue }
                    let request = DigestChallenge.Request(method: "GET", target: "/", count: 1, clientNonce: "0")
                    let answer = digest.authorization(user: "user", password: "password", for: request)
                    precondition(!answer.utf8.contains { $0 < 0x20 }, "a challenge may not inject lines")
                }
                let fields = ["WWW-Authenticate", "Authentication-Info"].map { HeaderField(name: $0, value: text) }
                let head = ResponseHead(version: "HTTP/1.1", status: 401, fields: fields)
                let offers = AuthenticationOffer.offers(in: head, by: .server)
                let spaces = offers.map { [ExactText($0.scheme.name), $0.realm] }
                precondition(Set(spaces).count == offers.count, "each realm of a scheme once")
                _ = DigestChallenge.nextNonce(in: head, of: .server)
            }
        ),
        FuzzTarget("upload-fields") { bytes in
            guard let url = URL(string: "https://host.example/path") else { return }
            var parser = HeadParser()
            let answer = parser.consume(lines: bytes)
            var course = UploadCourse()
            course.beginCreating(length: 1000, mayRepeat: false)
            _ = course.noteSent(600)
            for head in parser.informational { course.note(head, to: url) }
            precondition(course.acknowledged <= 600)
            if let resource = course.resource { precondition(Origin(resource.url) == Origin(url)) }
            guard course.lost() == .ask, case .complete(let head) = answer else { return }
            if course.receive(head, to: url) == .append {
                precondition((0...1000).contains(course.acknowledged))
                _ = course.receive(head, to: url)
            }
        },
        FuzzTarget(
            "dates",
            text: { text in
                if let date = HTTPDate.parse(text) { precondition(HTTPDate.parse(HTTPDate.text(of: date)) == date) }
                _ = CookieDate.parse(text)
                if let date = FTPReplies.httpDate(text) { precondition(HTTPDate.parse(date) != nil) }
            }
        ),
        FuzzTarget("transport-security") { bytes in
            if let field = TransportSecurityField(String(decoding: bytes, as: UTF8.self)) {
                precondition(field.maximumAge >= 0)
            }
            let written = TransportSecurityHosts(bytes, now: now).text(now: now)
            let read = Array(written.utf8).withUnsafeBytes { TransportSecurityHosts($0, now: now) }
            precondition(read.text(now: now) == written)
        },
        FuzzTarget(
            "ranges",
            text: { text in
                if let range = CacheRange(text)?.bytes(of: 1000) {
                    precondition(0 <= range.lowerBound && range.upperBound <= 1000 && !range.isEmpty)
                }
                let head = ResponseHead(
                    version: "HTTP/1.1",
                    status: 206,
                    fields: [HeaderField(name: "Content-Range", value: text)]
                )
                if let range = head.contentRange?.bytes { precondition(range.lowerBound >= 0) }
            }
        ),
        FuzzTarget(
            "cache-control",
            text: { text in
                let directives = CacheDirectives(text)
                for name in ["max-age", "max-stale", "stale-while-revalidate"] {
                    if let seconds = directives.seconds(name) { precondition(seconds >= 0 && seconds.isFinite) }
                }
                _ = directives.contains("no-store")
                if let elements = ListField.elements(of: text) {
                    precondition(elements.count <= ListField.maximumElements)
                }
            }
        ),
    ]

    /// What is asked of every head, by one part of the module or another.
    private static func readEverything(in head: ResponseHead) {
        _ = head.contentLength
        _ = head.contentRange
        _ = head.contentCoding
        _ = head.hasContradictingLengths
        _ = head.hasUnwantedTransferCoding
        if let url = URL(string: "http://host.example/path") { _ = HTTPURLResponse(head, at: url) }
        let freshness = CacheFreshness(head, requested: now, received: now, now: now)
        precondition(!freshness.age.isNaN && !freshness.lifetime.isNaN)
        let unstorable = CacheFields.unstorable(in: head)
        _ = head.removing(unstorable)
        _ = CacheFields.updated(head, with: head, received: now)
        _ = CacheFields.aged(head, by: freshness.age)
        precondition(CacheFields.confirmation(of: head, by: head) == .updates)
        precondition(!CacheFields.isOther(head, than: head))
        _ = try? WebSocketHandshake(key: "", .init(protocols: ["chat"], compression: .init())).agreement(by: head)
    }
}
