import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a request gets from the cache")
struct CacheDecisionTests {
    private typealias Decision = CacheValidation.Decision

    private static let validators: KeyValuePairs = ["ETag": "\"a\"", "Last-Modified": "x"]
    private static let conditions = [
        HeaderField(name: "If-None-Match", value: "\"a\""), HeaderField(name: "If-Modified-Since", value: "x"),
    ]

    /// For a stored response that has `age`, with a lifetime of 100 seconds.
    private static func decision(
        age: TimeInterval,
        _ fields: KeyValuePairs<String, String> = [
            "Cache-Control": "max-age=100", "ETag": "\"a\"", "Last-Modified": "x",
        ],
        policy: URLRequest.CachePolicy = .useProtocolCachePolicy,
        headers: KeyValuePairs<String, String> = [:]
    ) throws -> CacheValidation.Decision {
        let demand = try CacheDemand(Sample.request("http://a/", "GET", headers), policy: policy)
        let head = Sample.head(200, fields)
        let now = Date()
        let freshness = CacheFreshness(head, requested: now - age, received: now - age, now: now)
        return CacheValidation.decision(for: demand, stored: head, freshness: freshness)
    }

    @Test("The protocol's policy uses what is fresh and validates what isn't")
    func protocolPolicy() throws {
        #expect(try Self.decision(age: 50) == .use)
        #expect(try Self.decision(age: 150) == .validate(Self.conditions))
        #expect(try Self.decision(age: 150, ["Cache-Control": "max-age=100"]) == .load)
    }

    @Test("A validator that a program has stored with a line's end in it makes no condition")
    func lineEnds() {
        let head = Sample.head(200, ["ETag": "\"a\"\r\nX: y", "Last-Modified": "x"])
        #expect(CacheValidation.conditions(head) == [Self.conditions[1]])
    }

    @Test("The other policies do what they say, whatever the age", arguments: [50.0, 150])
    func policies(age: TimeInterval) throws {
        #expect(try Self.decision(age: age, policy: .reloadIgnoringLocalCacheData) == .load)
        #expect(try Self.decision(age: age, policy: .reloadIgnoringLocalAndRemoteCacheData) == .load)
        #expect(try Self.decision(age: age, policy: .returnCacheDataElseLoad) == .use)
        #expect(try Self.decision(age: age, policy: .returnCacheDataDontLoad) == .use)
        #expect(try Self.decision(age: age, policy: .reloadRevalidatingCacheData) == .validate(Self.conditions))
    }

    @Test("With nothing stored, only the policy that must not load fails")
    func nothingStored() throws {
        let policies: [(URLRequest.CachePolicy, CacheValidation.Decision)] = [
            (.useProtocolCachePolicy, .load), (.reloadIgnoringLocalCacheData, .load), (.returnCacheDataElseLoad, .load),
            (.reloadRevalidatingCacheData, .load), (.returnCacheDataDontLoad, .fail),
        ]
        for (policy, decision) in policies {
            let demand = try CacheDemand(Sample.request(), policy: policy)
            #expect(CacheValidation.decision(for: demand, stored: nil, freshness: nil) == decision, "\(policy)")
        }
    }

    @Test("A response with no-cache is validated even while it is fresh")
    func noCache() throws {
        #expect(try Self.decision(age: 0, ["Cache-Control": "no-cache, max-age=100", "ETag": "e"]) != .use)
        #expect(try Self.decision(age: 0, ["Cache-Control": "no-store, max-age=100"]) == .load)
        #expect(try Self.decision(age: 0, ["Pragma": "no-cache", "Expires": "Sat, 01 Jan 2050 00:00:00 GMT"]) == .load)
    }

    @Test("The request's directives narrow or widen what is used")
    func directives() throws {
        func decision(_ age: TimeInterval, _ directive: String) throws -> CacheValidation.Decision {
            try Self.decision(age: age, headers: ["Cache-Control": directive])
        }
        #expect(try decision(50, "no-cache") == .validate(Self.conditions))
        #expect(try decision(50, "no-store") == .load)
        #expect(try decision(50, "max-age=40") == .validate(Self.conditions))
        #expect(try decision(50, "max-age=60") == .use)
        #expect(try decision(50, "min-fresh=40") == .use)
        #expect(try decision(50, "min-fresh=60") == .validate(Self.conditions))
        #expect(try decision(150, "max-stale=60") == .use)
        #expect(try decision(150, "max-stale=40") == .validate(Self.conditions))
        #expect(try decision(1_000_000, "max-stale") == .use)
        #expect(try decision(150, "only-if-cached") == .fail)
        #expect(try decision(50, "only-if-cached") == .use)
    }

    @Test("Pragma counts where there is no Cache-Control, in any case and among others")
    func pragma() throws {
        #expect(try Self.decision(age: 50, headers: ["Pragma": "no-cache"]) == .validate(Self.conditions))
        #expect(try Self.decision(age: 50, headers: ["Pragma": "no-cache", "Cache-Control": "max-stale"]) == .use)
        #expect(try Self.decision(age: 50, headers: ["Pragma": "a, No-Cache"]) == .validate(Self.conditions))
        #expect(try Self.decision(age: 50, headers: ["Pragma": "no-cache-here"]) == .use)
        let fields: KeyValuePairs = ["Pragma": "a", "pragma": "No-cache", "Expires": "Sat, 01 Jan 2050 00:00:00 GMT"]
        #expect(try Self.decision(age: 0, fields) == .load)
    }

    @Test("must-revalidate goes before max-stale")
    func mustRevalidate() throws {
        let fields: KeyValuePairs = [
            "Cache-Control": "max-age=100, must-revalidate", "ETag": "\"a\"", "Last-Modified": "x",
        ]
        #expect(
            try Self.decision(age: 150, fields, headers: ["Cache-Control": "max-stale"]) == .validate(Self.conditions)
        )
        #expect(try Self.decision(age: 50, fields) == .use)
    }

    @Test(
        "A condition, range or upgrade set by hand is the program's own business",
        arguments: [
            "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range", "Upgrade",
        ]
    )
    func conditionsByHand(name: String) throws {
        #expect(try Self.decision(age: 50, headers: [name: "x"]) == .load)
    }

    @Test("Only a GET without a body, and without a password in its URL, has to do with the cache")
    func otherRequests() throws {
        for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let demand = try CacheDemand(Sample.request("http://a/", method), policy: .returnCacheDataElseLoad)
            #expect(demand.reading == .nothing && !demand.mayStore, "\(method)")
        }
        var request = try Sample.request()
        request.httpBody = Data("x".utf8)
        #expect(!CacheDemand(request, policy: .useProtocolCachePolicy).mayStore)
        for (control, fails) in [("max-age=100", false), ("only-if-cached", true)] {
            let named = try Sample.request("http://u:p@a/", "GET", ["Cache-Control": control])
            let demand = CacheDemand(named, policy: .useProtocolCachePolicy)
            #expect(demand.reading == .nothing && !demand.mayStore && !demand.supersedes, "\(control)")
            #expect(demand.failsWithout == fails, "\(control)")
        }
    }

    @Test("Reloading past all caches says so, unless the program says something else")
    func reloadFields() throws {
        let policy = URLRequest.CachePolicy.reloadIgnoringLocalAndRemoteCacheData
        #expect(try CacheDemand(Sample.request(), policy: policy).fields.map(\.name) == ["Cache-Control", "Pragma"])
        let own = try Sample.request("http://a/", "GET", ["Cache-Control": "max-age=0"])
        #expect(CacheDemand(own, policy: policy).fields.isEmpty)
        #expect(try CacheDemand(Sample.request(), policy: .reloadIgnoringLocalCacheData).fields.isEmpty)
        let revalidating = try CacheDemand(Sample.request(), policy: .reloadRevalidatingCacheData)
        #expect(revalidating.fields == [HeaderField(name: "Cache-Control", value: "max-age=0")])
        #expect(CacheDemand(own, policy: .reloadRevalidatingCacheData).fields.isEmpty)
    }

    @Test("The session's fields count as the request's, unless it has its own")
    func additionalFields() throws {
        func demand(
            _ name: String,
            _ value: String,
            own: KeyValuePairs<String, String> = [:],
            policy: URLRequest.CachePolicy = .useProtocolCachePolicy
        ) throws -> CacheDemand {
            let additional = [HeaderField(name: name, value: value)]
            return try CacheDemand(Sample.request("http://a/", "GET", own), policy: policy, additional: additional)
        }
        let forbidden = try demand("cache-control", "no-store")
        #expect(forbidden.reading == .nothing && !forbidden.mayStore)
        #expect(try demand("Cache-Control", "no-cache").reading == .validated)
        #expect(try demand("Pragma", "no-cache").reading == .validated)
        #expect(try demand("If-None-Match", "\"a\"").reading == .nothing)
        #expect(try !demand("Range", "bytes=0-1").mayStore)
        #expect(try demand("Cache-Control", "max-age=5", policy: .reloadRevalidatingCacheData).fields.isEmpty)
        let own = try demand("Cache-Control", "no-store", own: ["Cache-Control": "max-age=5"])
        #expect(own.reading == .fresh && own.mayStore && own.maximumAge == 5)
    }

    @Test("A session knows which of its fields the cache has to look at")
    func concernedFields() throws {
        let settings = Sample.settings {
            $0.httpAdditionalHeaders = ["X-A": "b", "cache-control": "no-store", "Accept": "*/*"]
        }
        #expect(settings.additionalCacheHeaders == [HeaderField(name: "cache-control", value: "no-store")])
        #expect(Sample.settings().additionalCacheHeaders.isEmpty)
    }

    @Test("stale-while-revalidate lets a response be used for so long while the server is asked")
    func staleWhileRevalidate() throws {
        func decision(
            _ age: TimeInterval,
            _ control: String = "max-age=100, stale-while-revalidate=100",
            headers: KeyValuePairs<String, String> = [:]
        ) throws -> CacheValidation.Decision {
            try Self.decision(age: age, ["Cache-Control": control, "ETag": "\"a\""], headers: headers)
        }
        let validates = CacheValidation.Decision.validate([HeaderField(name: "If-None-Match", value: "\"a\"")])
        #expect(try decision(50) == .use)
        #expect(try decision(150) == .useAndRevalidate)
        #expect(try decision(250) == validates)
        #expect(try decision(150, "max-age=100, stale-while-revalidate=100, must-revalidate") == validates)
        #expect(try decision(150, "max-age=100, stale-while-revalidate=100, no-cache") == validates)
        #expect(try decision(150, headers: ["Cache-Control": "max-age=120"]) == validates)
        #expect(try decision(150, headers: ["Cache-Control": "max-age=160"]) == .useAndRevalidate)
        #expect(try decision(150, headers: ["Cache-Control": "min-fresh=1"]) == validates)
        #expect(try decision(150, headers: ["Cache-Control": "no-cache"]) == validates)
        #expect(try decision(150, headers: ["Cache-Control": "only-if-cached"]) == .fail)
    }

    // MARK: - Servers in trouble

    @Test("A stale response stands in for an error where it or the request allows that")
    func staleIfError() throws {
        func standsIn(
            _ control: String,
            age: TimeInterval,
            status: Int = 200,
            request: String? = nil,
            policy: URLRequest.CachePolicy = .useProtocolCachePolicy
        ) throws -> Bool {
            let head = Sample.head(status, ["Cache-Control": control])
            let now = Date()
            let freshness = CacheFreshness(head, requested: now - age, received: now - age, now: now)
            let headers: KeyValuePairs<String, String> = request.map { ["Cache-Control": $0] } ?? [:]
            let demand = try CacheDemand(Sample.request("http://a/", "GET", headers), policy: policy)
            return CacheValidation.standsInForError(head, freshness, for: demand)
        }
        #expect(try standsIn("max-age=100, stale-if-error=100", age: 150))
        #expect(try !standsIn("max-age=100, stale-if-error=100", age: 250))
        #expect(try !standsIn("max-age=100", age: 150))
        #expect(try standsIn("max-age=100", age: 150, request: "stale-if-error=60"))
        #expect(try !standsIn("max-age=100, stale-if-error=100, must-revalidate", age: 150))
        for status in [500, 503] { #expect(try !standsIn("max-age=100, stale-if-error=100", age: 150, status: status)) }
        #expect(try standsIn("max-age=100, stale-if-error=100", age: 150, status: 404))
        #expect(try !standsIn("max-age=100, stale-if-error=100", age: 50, request: "no-cache"))
        #expect(try standsIn("max-age=100", age: 150, request: "no-cache, stale-if-error=60"))
        #expect(try !standsIn("max-age=100, stale-if-error=100", age: 150, policy: .reloadRevalidatingCacheData))
    }

    @Test("A server that is out of reach is in trouble")
    func unreachable() {
        let codes: [URLError.Code] = [
            .cannotFindHost, .cannotConnectToHost, .notConnectedToInternet, .timedOut, .networkConnectionLost,
        ]
        #expect(codes.allSatisfy { CacheValidation.isUnreachable(after: $0) })
    }

    @Test("A server that isn't trusted, or a request that isn't sent, is no trouble that a stale response hides")
    func notUnreachable() {
        let codes: [URLError.Code] = [
            .serverCertificateUntrusted, .serverCertificateHasBadDate, .clientCertificateRequired,
            .secureConnectionFailed, .badURL, .cancelled, .dataLengthExceedsMaximum, .userAuthenticationRequired,
        ]
        #expect(!codes.contains { CacheValidation.isUnreachable(after: $0) })
    }
}
