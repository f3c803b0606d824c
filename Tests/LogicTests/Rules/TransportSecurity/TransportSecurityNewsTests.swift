import Foundation
import Testing

@testable import CurlNetworking

@Suite("Changes of hosts that require https")
struct TransportSecurityNewsTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var hosts = TransportSecurityHosts()
    private var news = TransportSecurityNews()

    private mutating func note(_ host: String, for seconds: Int64 = 3600) throws {
        let field = TransportSecurityField(maximumAge: seconds, includesSubdomains: false)
        let changed = hosts.note(field, from: host, now: now)
        let name = try #require(changed)
        news.note(hosts.entries[name], for: name, known: hosts)
    }

    @Test("However many changes are noted, their number is bounded, and those of known hosts are among them")
    mutating func bounded() throws {
        let limit = TransportSecurityHosts.maximumCount
        for number in 0...2 * limit { try note("h\(number).example") }
        #expect(news.count <= limit)
        var written = TransportSecurityHosts()
        news.apply(to: &written, now: now)
        #expect(Set(hosts.entries.keys).isSubset(of: written.entries.keys))
        #expect(news.take().count <= limit)
        #expect(news.isEmpty)
    }

    @Test("Changes that couldn't be written are put back, unless they have changed since")
    mutating func putBack() throws {
        try note("kept.example")
        try note("removed.example")
        let failed = news.take()
        try note("removed.example", for: 0)
        news.putBack(failed, known: hosts)
        var written = TransportSecurityHosts()
        let entry = TransportSecurityHosts.Entry(expires: nil, includesSubdomains: false)
        written.set(entry, for: "removed.example", now: now)
        news.apply(to: &written, now: now)
        #expect(Array(written.entries.keys) == ["kept.example"])
    }
}
