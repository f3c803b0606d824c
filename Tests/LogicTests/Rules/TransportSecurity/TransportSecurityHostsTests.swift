import Foundation
import Testing

@testable import CurlNetworking

@Suite("Hosts that want https")
struct TransportSecurityHostsTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var hosts = TransportSecurityHosts()

    private mutating func note(_ text: String, from host: String, now: Date? = nil) -> String? {
        TransportSecurityField(text).flatMap { hosts.note($0, from: host, now: now ?? self.now) }
    }

    private func list(_ text: String) -> TransportSecurityHosts {
        Array(text.utf8).withUnsafeBytes { TransportSecurityHosts($0, now: now) }
    }

    private func contains(_ host: String, after seconds: TimeInterval = 0) -> Bool {
        hosts.contains(host, now: now + seconds)
    }

    @Test("A host is known until its time is over, or it says so")
    mutating func time() {
        let learnt = note("max-age=60", from: "Example.com.")
        #expect(learnt == "example.com")
        #expect(contains("example.com"))
        #expect(contains("EXAMPLE.com.", after: 59))
        #expect(!contains("example.com", after: 60))
        #expect(!contains("other.com"))
        let forgotten = note("max-age=0", from: "example.com")
        #expect(forgotten == "example.com")
        #expect(!contains("example.com"))
        let nothing = note("max-age=0", from: "example.com")
        #expect(nothing == nil)
    }

    @Test("Subdomains are included where the host says so, and never what only ends like it")
    mutating func subdomains() {
        _ = note("max-age=60", from: "plain.example")
        _ = note("max-age=60; includeSubDomains", from: "wide.example")
        #expect(!contains("a.plain.example"))
        #expect(contains("a.wide.example") && contains("b.a.wide.example"))
        #expect(!contains("notwide.example") && !contains("example"))
        // A name of its own doesn't make the domain above it forgotten.
        _ = note("max-age=0", from: "a.wide.example")
        #expect(contains("a.wide.example"))
        #expect(!contains("a.wide.example", after: 60))
    }

    @Test(
        "An address is never known",
        arguments: ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "::1", "[::1]", "fe80::1%eth0"]
    )
    mutating func addresses(host: String) {
        let learnt = note("max-age=60; includeSubDomains", from: host)
        #expect(learnt == nil)
        #expect(hosts.entries.isEmpty)
        #expect(!contains(host))
    }

    @Test("A change of less than a minute isn't worth writing, and more is")
    mutating func renewal() {
        _ = note("max-age=600", from: "example.com")
        let soon = note("max-age=600", from: "example.com", now: now + 59)
        let later = note("max-age=600", from: "example.com", now: now + 60)
        let wider = note("max-age=600; includeSubDomains", from: "example.com", now: now + 60)
        let shorter = note("max-age=60; includeSubDomains", from: "example.com", now: now + 60)
        #expect([soon, later, wider, shorter] == [nil, "example.com", "example.com", "example.com"])
    }

    @Test("However many hosts there are, the list stays bounded, and those that were noted last stay")
    mutating func bound() {
        _ = note("max-age=1000000", from: "long.example")
        for number in 0..<TransportSecurityHosts.maximumCount + 500 {
            _ = note("max-age=2000", from: "h\(number).example", now: now + TimeInterval(number) / 100)
        }
        #expect(hosts.entries.count <= TransportSecurityHosts.maximumCount)
        #expect(hosts.entries.count > TransportSecurityHosts.maximumCount * 8 / 10)
        #expect(contains("h10499.example") && !contains("h0.example") && !contains("long.example"))
    }

    @Test("A site with many hosts evicts its own, whatever they ask for")
    mutating func sites() {
        for number in 0..<3 { _ = note("max-age=60", from: "h\(number).small.example", now: now - 10) }
        for number in 0..<2500 { _ = note("max-age=60", from: "h\(number).large.example", now: now - 5) }
        for number in 0..<2 * TransportSecurityHosts.maximumCount {
            _ = note("max-age=3153600000; includeSubDomains", from: "h\(number).evil.example", now: now)
        }
        let counts = Dictionary(grouping: hosts.entries.keys) { PublicSuffixList.site(of: $0) }.mapValues(\.count)
        #expect(counts["small.example"] == 3 && counts["large.example"] == 2500)
        // It has room for new ones.
        let new = note("max-age=60", from: "h0.new.example")
        #expect(new != nil && contains("h0.new.example"))
    }

    @Test("Of one site's hosts, those that were noted longest ago go first")
    mutating func longestAgo() {
        for number in 0...TransportSecurityHosts.maximumCount {
            // The later, the sooner it expires.
            let now = now + TimeInterval(number)
            _ = note("max-age=\(100_000 - 2 * number)", from: "h\(number).example.com", now: now)
        }
        let left = hosts.entries.keys.compactMap { Int($0.dropFirst().prefix { $0 != "." }) }.sorted()
        #expect(left == Array(1001...TransportSecurityHosts.maximumCount))
    }

    @Test("A written list's order of hosts is taken over")
    mutating func dates() {
        _ = note("max-age=600", from: "known.example")
        var read = list(hosts.text(now: now) + "other.example \"20301231 23:59:59\"\n")
        read.adoptDates(from: hosts)
        #expect(read.entries["known.example"]?.noted == now)
        #expect(read.entries["other.example"]?.noted == .distantPast)
    }

    @Test("Hosts that a file lists without end make no room for others, and others need none of theirs")
    mutating func unlimited() {
        let names = (0..<TransportSecurityHosts.maximumCount).map { "h\($0).example" }
        hosts = list(names.map { "\($0) \"unlimited\"\n" }.joined())
        let learnt = note("max-age=600", from: "new.example")
        #expect(learnt == "new.example")
        #expect(contains("new.example") && contains("h0.example") && contains("h9999.example"))
        #expect(hosts.entries.count == TransportSecurityHosts.maximumCount + 1)
        for name in names.prefix(2) { _ = note("max-age=0", from: name) }
        #expect(hosts.entries.count == TransportSecurityHosts.maximumCount - 1)
        #expect(hosts.isWhole)
    }

    // MARK: - The file

    @Test("The file has libcurl's format: what is written is read back, and so is what curl writes")
    mutating func file() {
        _ = note("max-age=60", from: "plain.example")
        _ = note("max-age=600; includeSubDomains", from: "wide.example")
        let text = hosts.text(now: now)
        #expect(
            text.split(separator: "\n").dropFirst() == [
                "plain.example \"20270115 08:01:00\"", ".wide.example \"20270115 08:10:00\"",
            ]
        )
        #expect(list(text).text(now: now) == text)

        let curls = list(
            """
            # Your HSTS cache. https://curl.se/docs/hsts.html
            # This file was generated by libcurl! Edit at your own risk.
            .a.example "20301231 23:59:59"
            b.example "unlimited"\r
            old.example "20200101 00:00:00"
            """
        )
        #expect(curls.entries.keys.sorted() == ["a.example", "b.example"])
        #expect(curls.contains("x.a.example", now: now))
        #expect(curls.contains("b.example", now: .distantFuture) && !curls.contains("x.b.example", now: now))
        #expect(curls.entries["a.example"]?.expires == Date(timeIntervalSince1970: 1_924_991_999))
    }

    @Test(
        "Lines that make no sense are passed over",
        arguments: [
            "", "#", "a.example", "a.example 20301231", "a.example \"\"", "a.example \"2030\"",
            "a.example \"20301331 00:00:00\"", "a.example \"20300231 00:00:00\"", "a.example \"20300229 00:00:00\"",
            "a.example \"-0301231 00:00:00\"", "a.example \"20301231 24:00:00\"",
            "a.example \"20301231 23:60:00\"", "a.example \"soon\"", "127.0.0.1 \"unlimited\"", ". \"unlimited\"",
            "a/b \"unlimited\"", "#a.example \"unlimited\"", "#.a.example \"unlimited\"", "ä.example \"unlimited\"",
            "a.example \u{301}\"unlimited\"", "a.example \"unlimited\"\u{301}", "a.example\u{A0}\"unlimited\"",
            "a.example \"2030 1231 235959\"", "a.example \"unlimited", "a.example unlimited\"",
            "a.example \"unlimited\" x y", "\0 \"unlimited\"", "\u{FFFD} \"unlimited\"",
        ]
    )
    func nonsense(line: String) {
        let hosts = list("good.example \"unlimited\"\n\(line)\n")
        #expect(hosts.entries.keys.sorted() == ["good.example"])
    }

    @Test(
        "Words may have any spaces and tabs between them, and around them",
        arguments: [
            "a.example \"20301231 23:59:59\"", " a.example\t\t\"20301231 \t 23:59:59\" \t",
            "\tA.example. \"20301231235959\"", "a.example \" 20301231:235959\"",
        ]
    )
    func spaces(line: String) {
        let hosts = list(line)
        #expect(hosts.entries.keys.sorted() == ["a.example"])
        #expect(hosts.entries["a.example"]?.expires == Date(timeIntervalSince1970: 1_924_991_999))
    }

    @Test(
        "Any newline of Unicode ends a line, and nothing else does",
        arguments: ["\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}", "\n\n\r\u{2028}\u{85}"]
    )
    func newlines(newline: String) {
        let lines = ["a.example \"unlimited\"", "# é\u{2027}\u{202A}\u{84}", "b.example \"unlimited\""]
        let text = newline + lines.joined(separator: newline)
        #expect(list(text).entries.keys.sorted() == ["a.example", "b.example"])
        #expect(list(text + newline).entries.keys.sorted() == ["a.example", "b.example"])
        #expect(list("a.example\u{2027}\"unlimited\"").entries.isEmpty)
    }

    @Test("Bytes that are no text spoil only their own line, wherever they end")
    func noText() {
        for bytes in [[0xC2], [0xE2], [0xE2, 0x80], [0xFF], [0xF0, 0x90]] as [[UInt8]] {
            let text = bytes + Array("\ngood.example \"unlimited\"\nbad.example \"unlimited\"".utf8) + bytes
            let hosts = text.withUnsafeBytes { TransportSecurityHosts($0, now: now) }
            #expect(hosts.entries.keys.sorted() == ["good.example"])
        }
    }

    @Test("Empty lines don't count towards the largest number of lines, and all others do")
    func lineCount() {
        let most = 4 * TransportSecurityHosts.maximumCount
        let known = "known.example \"unlimited\"\n"
        let whole = list(String(repeating: "#\n\r\n", count: most - 1) + known)
        #expect(whole.isWhole && whole.entries.count == 1)
        let longer = list(String(repeating: "#\n", count: most) + known)
        #expect(!longer.isWhole && longer.entries.isEmpty)
    }

    // MARK: - URLs

    @Test(
        "A secured URL gets https, and 443 for 80, and all else stays",
        arguments: [
            ("http://example.com/a?b#c", "https://example.com/a?b#c"),
            ("http://example.com:80/", "https://example.com:443/"),
            ("http://example.com:8080", "https://example.com:8080"),
            ("HTTP://u:p@Example.com/%2e%2E/%C3%A4", "https://u:p@Example.com/%2e%2E/%C3%A4"),
        ]
    )
    func url(from: String, to: String) throws {
        #expect(try TransportSecurityHosts.secured(Sample.url(from))?.absoluteString == to)
    }
}
