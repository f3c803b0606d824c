import Testing

@testable import CurlNetworking

@Suite("A Strict-Transport-Security field")
struct TransportSecurityFieldTests {
    @Test(
        "A field in any form of RFC 6797 §6 is read",
        arguments: [
            ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false), ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true), ("INCLUDESUBDOMAINS;;MAX-AGE = 7;", 7, true),
            ("max-age=7; preload; x=\"a;b\\\"c\"", 7, false), (" ;max-age=7", 7, false),
        ]
    )
    func good(text: String, age: Int64, includesSubdomains: Bool) {
        let field = TransportSecurityField(maximumAge: age, includesSubdomains: includesSubdomains)
        #expect(TransportSecurityField(text) == field)
    }

    @Test(
        "A field that doesn't conform counts as if it weren't there",
        arguments: [
            "", ";", "includeSubDomains", "max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=1.5", "max-age=+1",
            "max-age=7; max-age=8", "max-age=7; includeSubDomains=1", "max-age=7; includeSubDomains; includesubdomains",
            "max-age=7; a b", "max-age=7; x=\"", "max-age=7; =x", "max-age=\"7", "max-age=7, max-age=8", "max-age=７",
        ]
    )
    func bad(text: String) {
        #expect(TransportSecurityField(text) == nil)
    }

    @Test("The largest numbers are a long time, and no overflow")
    func large() throws {
        for age in ["9223372036854775807", "9223372036854775808", String(repeating: "9", count: 4000)] {
            let field = try #require(TransportSecurityField("max-age=\(age)"))
            #expect(field.maximumAge == 100 * 366 * 86_400)
        }
    }
}
