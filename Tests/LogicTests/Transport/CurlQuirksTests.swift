import Testing

@testable import CurlTransport
@testable import CurlNetworking

@Suite("What versions of libcurl get wrong")
struct CurlQuirksTests {
    static let versions: [(version: CurlVersion, quirks: Set<String>)] = [
        (
            CurlVersion(7, 71, 1),
            [
                "blamesMemoryForLongLines", "forgetsHTTP2Input", "keepsTLSSessionsPerHandle", "leaksPausedBytes",
                "missesFTPEvents", "restartsContinueWait",
            ]
        ),
        (
            CurlVersion(7, 76),
            [
                "blamesMemoryForLongLines", "forgetsHTTP2Input", "keepsTLSSessionsPerHandle", "leaksPausedBytes",
                "looksThroughConnections", "missesFTPEvents", "restartsContinueWait",
            ]
        ),
        (
            CurlVersion(7, 88, 1),
            [
                "blamesMemoryForLongLines", "forgetsHTTP2Input", "forgetsNextAddress", "holdsResetsBack",
                "keepsTLSSessionsPerHandle", "leaksPausedBytes", "looksThroughConnections", "missesFTPEvents",
                "restartsContinueWait", "restartsPriorKnowledge",
            ]
        ),
        (
            CurlVersion(8, 1),
            [
                "blamesMemoryForLongLines", "breaksHTTP2Silently", "dropsLargeFields", "failsAnsweredUploads",
                "forgetsNextAddress", "forgetsWaiting", "holdsResetsBack", "keepsTLSSessionsPerHandle",
                "leaksPausedBytes", "looksThroughConnections", "missesFTPEvents", "restartsContinueWait",
                "sharesPriorKnowledgeWhenAnswered",
            ]
        ),
        (
            CurlVersion(8, 14, 1),
            [
                "breaksHTTP2Silently", "dropsLargeFields", "failsAnsweredUploads", "forgetsWaiting", "holdsResetsBack",
                "looksThroughConnections", "sharesPriorKnowledgeWhenAnswered", "spinsWhilePaused",
            ]
        ),
        (
            CurlVersion(8, 21),
            [
                "breaksHTTP2Silently", "dropsLargeFields", "failsAnsweredUploads", "forgetsFTPHandshakeLimit",
                "forgetsWaiting", "looksThroughConnections", "restoresAuthorities", "sharesPriorKnowledgeWhenAnswered",
                "spinsWhilePaused",
            ]
        ),
    ]

    @Test("Each version of libcurl has its own quirks", arguments: versions)
    func quirks(version: CurlVersion, expected: Set<String>) {
        let found = Mirror(reflecting: CurlQuirks(version: version)).children.filter { $0.value as? Bool == true }
        #expect(Set(found.compactMap(\.label)) == expected)
    }

    @Test("The linked libcurl has its version's quirks")
    func current() {
        #expect(CurlQuirks.current == CurlQuirks(version: CurlLibrary.version))
    }

    @Test("Connections by prior knowledge can be shared before an answer unless the version is known not to")
    func sharing() throws {
        let settings = Sample.settings { $0.curl.httpVersion = .http2PriorKnowledge }
        let origin = try #require(Origin(Sample.url("http://example.com/")))
        var plan = ConnectionPlan(settings, for: origin)
        plan.quirks = CurlQuirks(version: CurlVersion(7, 88, 1))
        #expect(!plan.sharesWhenAnswered)
        plan.quirks = CurlQuirks(version: CurlVersion(8, 14, 1))
        #expect(plan.sharesWhenAnswered)
    }

    @Test("Versions are told apart by all of their numbers, and written as libcurl writes them")
    func writing() {
        let versions = [CurlVersion(7, 76), CurlVersion(7, 88), CurlVersion(7, 88, 1), CurlVersion(8, 0)]
        #expect(versions == versions.sorted())
        #expect(versions.map(\.description) == ["7.76.0", "7.88.0", "7.88.1", "8.0.0"])
        #expect(CurlVersion(number: 0x075801) == CurlVersion(7, 88, 1))
        #expect(CurlLibrary.versionText.hasPrefix(CurlLibrary.version.description))
    }
}
