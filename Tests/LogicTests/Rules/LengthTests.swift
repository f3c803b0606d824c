import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

/// What servers write is read in linear time. In quadratic time, each of these would take minutes.
@Suite("Reading what is very long", .timeLimit(.minutes(1)))
struct LengthTests {
    /// Flags: without knowing where a run of them begins, nobody can tell where one of its characters does.
    private static let flags = String(repeating: "🇩🇪", count: 150_000)

    @Test("Cache directives with long arguments of emoji are read in time")
    func cacheDirectives() {
        let directives = CacheDirectives("max-age=5, x=\(Self.flags), \(Self.flags)=y, private")
        #expect(directives.seconds("max-age") == 5)
        #expect(directives.contains("private"))
    }

    /// Swift puts marks after a letter in order before it compares or hashes them.
    private static let marks = String(repeating: "\u{345}\u{301}\u{323}\u{334}", count: 40_000)

    @Test("Fields with long runs of marks are compared in time")
    func fieldsWithMarks() {
        let names = ["Content-Encoding", "Cache-Control", "Vary", "Content-Range", Self.marks]
        let fields = HeaderFieldsTests.received(names.map { (Array($0.utf8), Array("a\(Self.marks)".utf8)) })
        let head = ResponseHead(version: "HTTP/1.1", status: 206, fields: fields)
        #expect(head.contentCoding == .none)
        #expect(!CacheDirectives(head.combined("Cache-Control")).contains("no-store"))
        #expect(CacheVariant.names(of: head) != ["*"])
        #expect(head.contentRange == nil)
        #expect(fields.combined.count == names.count)
        #expect(SetCookieParser.parse("a=b; \(fields.value(at: 0)); Secure", now: Date())?.isSecure == true)
    }

    @Test("A challenge in which marks follow each other only once nothing is escaped is read without them")
    func escapedMarks() {
        let escaped = String(repeating: "\\\u{345}\\\u{301}\\\u{323}\\\u{334}", count: 20_000)
        let challenges = AuthenticationField.challenges(in: ["Digest realm=\"\(escaped)\", nonce=\"n\""])
        #expect(challenges == [AuthenticationField(scheme: "Digest", parameters: ["nonce": "n"])])
    }

    @Test("A host longer than any name can be is refused, in whatever form it is written")
    func hosts() throws {
        for label in ["a.", ".", "A.", "%61.", "%C3%A4."] {
            let long = try #require(URL(string: "http://x" + String(repeating: label, count: 50_000) + "/"))
            #expect(Origin(long) == nil)
        }
        let longest = String(repeating: "a", count: HostSpelling.maximumLength)
        #expect(try Origin(#require(URL(string: "http://\(longest)/")))?.host == longest)
        #expect(try Origin(#require(URL(string: "http://\(longest)a/"))) == nil)
        let head = ResponseHead(
            version: "HTTP/1.1",
            status: 302,
            fields: [HeaderField(name: "Location", value: "http://\(longest)a/")]
        )
        let request = URLRequest(url: try Sample.url("http://example.com/"))
        let decision = RedirectPolicy.decision(for: head, to: request, count: 0, unixSocket: { _ in nil })
        guard case .fail(let error) = decision else {
            Issue.record("a redirect to such a host")
            return
        }
        #expect(error.code == .redirectToNonExistentLocation)
    }

    @Test("A long FTP reply with emoji is read in time, with the size that it announces")
    func ftpReply() {
        var replies = FTPReplies(offset: 0, mayAnnounceSize: true)
        var line = "150 Opening (\(Self.flags)) (12 bytes)\r\n"
        line.withUTF8 { _ = replies.consume(lines: UnsafeRawBufferPointer($0), isProxys: false) }
        #expect(replies.announcedLength == 12)
    }

    @Test("A list of hosts with long lines of emoji is read in time, and the hosts after them are known")
    func transportSecurity() {
        let text = "\(Self.flags)\n\(Self.flags) \"\(Self.flags)\"\nknown.example \"unlimited\"\n"
        let hosts = Array(text.utf8).withUnsafeBytes { TransportSecurityHosts($0, now: Date()) }
        #expect(hosts.entries.keys.sorted() == ["known.example"])
    }

    @Test("A long reference with percent signs that escape nothing is resolved in time")
    func percents() throws {
        let base = try Sample.url("http://example.com/")
        let url = try #require(URL(reference: "/\(String(repeating: "%", count: 300_000))?%41 %4", relativeTo: base))
        #expect(url.absoluteString.hasPrefix("http://example.com/%25%25%25"))
        #expect(url.absoluteString.hasSuffix("%25%25?%41%20%254"))
    }

    @Test("A path below many directories of many realms is found in time")
    func spaces() throws {
        var spaces = ProtectionSpaces()
        let url = try Sample.url("http://example.com/" + String(repeating: "a/.b/%2e%2F", count: 30_000))
        for number in 0..<ProtectionSpaces.maximumSpaces {
            let space = try ProtectionSpacesTests.space(.digest, realm: "\(number)")
            let digest = try ProtectionSpacesTests.digest("n", domain: String(repeating: "/ ", count: 64))
            spaces.set(ProtectionSpacesTests.credential, for: space, digest: digest)
            spaces.noteAcceptance(of: ProtectionSpacesTests.credential, for: space, at: url)
        }
        let challenger = try Challenger(party: .server, origin: ProtectionSpacesTests.origin())
        for _ in 0..<20 { #expect(spaces.space(for: url, of: challenger) != nil) }
    }

    @Test("A cookie of a URL with a long path has a path no longer than one of its own might be")
    func cookiePath() throws {
        let url = try Sample.url("http://example.com/" + String(repeating: "abc/", count: 30_000) + "file")
        let acceptance = CookieAcceptance(policy: .always) { _ in false }
        let cookies = acceptance.cookies(from: ["a=b"], at: url, mainDocument: nil, now: Date())
        let path = try #require(cookies.first?.path)
        #expect(path.utf8.count <= 1024 && path.hasSuffix("/abc"))
        #expect(url.path.hasPrefix(path + "/"))
    }

    @Test("Tens of thousands of fields of a request and its session are merged in time")
    func fields() throws {
        var request = try Sample.request("http://example.com/")
        request.allHTTPHeaderFields = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("X-\($0)", "own") })
        let additional = (0..<40_000).map { HeaderField(name: "x-\($0)", value: "session") }
        let fields = try HeaderRules.fields(of: request, additional: additional)
        #expect(fields.count == 40_000)
        #expect(fields.count { $0.value == "own" } == 20_000)
        let doubles = Dictionary(uniqueKeysWithValues: (0..<20_000).flatMap { [("X-\($0)", "a"), ("x-\($0)", "b")] })
        #expect(HeaderRules.additional(doubles).allSatisfy { $0.value == "a" })
    }

    @Test("Only some parts of a body get a copy of a head with thousands of fields")
    func parts() throws {
        func parts(_ count: Int, fields: Int) throws -> URLError? {
            let type = HeaderField(name: "Content-Type", value: "multipart/x-mixed-replace; boundary=b")
            let many = (0..<fields).map { HeaderField(name: "X-\($0)", value: "") }
            let head = ResponseHead(version: "HTTP/1.1", status: 200, fields: [type] + many)
            let parts = try #require(BodyParts(head, at: nil))
            do throws(URLError) {
                for _ in 0..<count { _ = try parts.begin(with: []) }
                return nil
            } catch {
                return error
            }
        }
        #expect(try parts(200, fields: 4900) == nil)
        #expect(try parts(1000, fields: 4900)?.code == .cannotParseResponse)
        #expect(try parts(100_000, fields: 100) == nil)
    }
}
