import Foundation
import Testing

@testable import CurlNetworking

@Suite("Freshness of stored responses")
struct CacheFreshnessTests {
    /// Tue, 10 Nov 2020 00:00:00 GMT
    private static let received = Date(timeIntervalSince1970: 1_604_966_400)
    private static let date = "Tue, 10 Nov 2020 00:00:00 GMT"

    private static func freshness(
        _ fields: KeyValuePairs<String, String>,
        status: Int = 200,
        delay: TimeInterval = 0,
        after seconds: TimeInterval = 0
    ) -> CacheFreshness {
        CacheFreshness(
            Sample.head(status, fields),
            requested: received - delay,
            received: received,
            now: received + seconds
        )
    }

    @Test("max-age goes before Expires, and Expires before a guess")
    func lifetimes() {
        let expires = "Tue, 10 Nov 2020 01:00:00 GMT"
        let modified = "Mon, 09 Nov 2020 00:00:00 GMT"
        let all: KeyValuePairs = [
            "Cache-Control": "public, max-age=60", "Expires": expires, "Date": Self.date, "Last-Modified": modified,
        ]
        #expect(Self.freshness(all).lifetime == 60)
        #expect(Self.freshness(["Expires": expires, "Date": Self.date, "Last-Modified": modified]).lifetime == 3600)
        #expect(Self.freshness(["Date": Self.date, "Last-Modified": modified]).lifetime == 8640)
        #expect(Self.freshness([:]).lifetime == 0)
    }

    @Test("After the clock was set back by more than a minute, nothing is known of the age")
    func clock() {
        #expect(Self.freshness([:], after: -59).age == 0)
        #expect(Self.freshness([:], after: -61).age == .infinity)
        let own = CacheFreshness(
            Sample.head(200, ["Date": Self.date]),
            requested: nil,
            received: nil,
            now: Self.received - 3600
        )
        #expect(own.age == 0, "it is the server's clock that may be ahead")
    }

    @Test("A guess is a tenth of the age, a week at most, and for some statuses only")
    func heuristics() {
        let old = "Thu, 10 Nov 2005 00:00:00 GMT"
        #expect(Self.freshness(["Last-Modified": old]).lifetime == 7 * 24 * 60 * 60)
        #expect(Self.freshness(["Last-Modified": old], status: 302).lifetime == 0)
        #expect(Self.freshness(["Last-Modified": "Wed, 11 Nov 2020 00:00:00 GMT"]).lifetime == 0)
    }

    @Test("An Expires that is no date is the past", arguments: ["0", "-1", "", "tomorrow"])
    func badExpires(text: String) {
        #expect(!Self.freshness(["Expires": text, "Last-Modified": "Thu, 10 Nov 2005 00:00:00 GMT"]).isFresh)
    }

    @Test("A max-age that is no number is zero, and a huge one is long")
    func badMaximumAge() {
        #expect(Self.freshness(["Cache-Control": "max-age=x"]).lifetime == 0)
        #expect(Self.freshness(["Cache-Control": "max-age"]).lifetime == 0)
        #expect(Self.freshness(["Cache-Control": "max-age=99999999999999999999"]).lifetime > 1_000_000_000)
        #expect(Self.freshness(["Cache-Control": "MAX-AGE=\"60\""]).lifetime == 60)
    }

    @Test("Age counts from what caches on the way say, the way, and the time since")
    func age() {
        #expect(Self.freshness(["Date": Self.date], after: 30).age == 30)
        #expect(Self.freshness(["Age": "100", "Date": Self.date], delay: 5, after: 30).age == 135)
        #expect(Self.freshness(["Date": "Mon, 09 Nov 2020 23:00:00 GMT", "Age": "10"]).age == 3600)
        // A clock that is ahead makes nothing younger.
        #expect(Self.freshness(["Date": "Tue, 10 Nov 2020 01:00:00 GMT"], after: 30).age == 30)
    }

    @Test("A response is fresh until its age reaches its lifetime")
    func boundary() {
        #expect(Self.freshness(["Cache-Control": "max-age=60"], after: 59).isFresh)
        #expect(!Self.freshness(["Cache-Control": "max-age=60"], after: 60).isFresh)
        #expect(Self.freshness(["Cache-Control": "max-age=60"], after: 70).staleness == 10)
    }

    @Test("A response that a program has stored is as old as its Date says, and else of unknown age")
    func unknownAge() {
        let dated = CacheFreshness(
            Sample.head(200, ["Cache-Control": "max-age=60", "Date": Self.date]),
            requested: nil,
            received: nil,
            now: Self.received + 59
        )
        #expect(dated.isFresh)
        let undated = CacheFreshness(
            Sample.head(200, ["Cache-Control": "max-age=60"]),
            requested: nil,
            received: nil,
            now: Self.received
        )
        #expect(!undated.isFresh)
    }
}

@Suite("Cache-Control")
struct CacheDirectivesTests {
    @Test("Directives are told apart by commas outside of quotes, in any case")
    func parsing() {
        let directives = CacheDirectives("No-Cache=\"Set-Cookie, X\" ,, max-age = 5,private, max-age=9")
        #expect(directives.contains("no-cache"))
        #expect(directives.contains("private"))
        #expect(directives.seconds("max-age") == 5)
        #expect(!directives.contains("x"))
        #expect(!directives.contains("no-store"))
    }

    @Test("An argument and none are two things")
    func bare() {
        #expect(CacheDirectives("max-stale").isBare("max-stale"))
        #expect(!CacheDirectives("max-stale=1").isBare("max-stale"))
        #expect(!CacheDirectives(nil).isBare("max-stale"))
    }

    @Test("Nonsense has no directives", arguments: ["", ",", "=", " , = , "])
    func nonsense(field: String) {
        #expect(CacheDirectives(field) == CacheDirectives(nil))
    }
}

extension CacheFreshness {
    fileprivate var isFresh: Bool { staleness < 0 }
}
