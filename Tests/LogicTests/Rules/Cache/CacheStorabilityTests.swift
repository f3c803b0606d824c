import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which responses are stored")
struct CacheStorabilityTests {
    private static func isStored(
        _ status: Int = 200,
        _ fields: KeyValuePairs<String, String>,
        policy: URLRequest.CachePolicy = .useProtocolCachePolicy,
        headers: KeyValuePairs<String, String> = [:]
    ) throws -> Bool {
        let demand = try CacheDemand(Sample.request("http://a/", "GET", headers), policy: policy)
        return CacheStorability.isStorable(Sample.head(status, fields), for: demand)
    }

    @Test("A response that can be fresh or validated is stored")
    func useful() throws {
        #expect(try Self.isStored(200, ["Cache-Control": "max-age=1"]))
        #expect(try Self.isStored(200, ["Expires": "Sat, 01 Jan 2050 00:00:00 GMT"]))
        #expect(try Self.isStored(200, ["ETag": "\"a\""]))
        #expect(try Self.isStored(200, ["Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT"]))
        #expect(try Self.isStored(200, ["Cache-Control": "no-cache", "ETag": "\"a\""]))
        #expect(try Self.isStored(200, ["Cache-Control": "private, max-age=1"]))
    }

    @Test("A response that can't be fresh or validated is stored as well")
    func useless() throws {
        #expect(try Self.isStored(200, [:]))
        #expect(try Self.isStored(200, ["Cache-Control": "max-age=0"]))
        #expect(try Self.isStored(404, [:]))
    }

    @Test("A response that must not be stored isn't")
    func forbidden() throws {
        #expect(try !Self.isStored(200, ["Cache-Control": "no-store, max-age=60"]))
        #expect(try !Self.isStored(200, ["Cache-Control": "no-store"], policy: .returnCacheDataElseLoad))
        #expect(try !Self.isStored(200, ["Cache-Control": "max-age=60"], headers: ["Cache-Control": "no-store"]))
        #expect(try !Self.isStored(200, ["Cache-Control": "max-age=60", "Vary": "Accept, *"]))
    }

    @Test(
        "A response whose Vary lists more than a hundred names isn't stored",
        arguments: ["Cache-Control", "Vary", "Connection"]
    )
    func endless(field: String) throws {
        let names = (1...101).map { "name\($0)" }
        #expect(try Self.isStored(200, [field: names.dropLast().joined(separator: ",")]))
        #expect(try !Self.isStored(200, [field: names.joined(separator: ",")]))
    }

    @Test(
        "An escaped quote ends no quotes: the directives after them are read",
        arguments: [
            #"private, ext="\"", no-store"#, #"ext="a\",b", no-store"#, #"ext="\\", no-store"#,
            #"max-age=60, ext="\", no-store"#, #"no-store, ext="open"#,
        ]
    )
    func quotedPairs(control: String) throws {
        #expect(try !Self.isStored(200, ["Cache-Control": control]))
    }

    @Test("Text in quotes is no directive")
    func quoted() throws {
        #expect(try Self.isStored(200, ["Cache-Control": #"max-age=60, ext="\", no-store""#]))
        #expect(try Self.isStored(200, ["Cache-Control": #"ext="a, no-store", max-age=60"#]))
        // Outside of quotes a backslash is a byte like others.
        #expect(try Self.isStored(200, ["Cache-Control": #"ext=\"a, no-store""#]))
    }

    @Test(
        "A response whose Cache-Control has quotes that don't end isn't stored",
        arguments: [
            ("Cache-Control", #"max-age=60, ext="a"#), ("Cache-Control", #"ext="a"#), ("Cache-Control", #"ext="\""#),
            ("Vary", #"Accept, "X"#), ("Connection", #"close, "X"#),
        ]
    )
    func openQuotes(field: String, value: String) throws {
        #expect(try !Self.isStored(200, [field: value]))
    }

    @Test("Parts of a body are not stored")
    func parts() throws {
        #expect(try !Self.isStored(206, ["Cache-Control": "max-age=60", "ETag": "\"a\""]))
        #expect(try !Self.isStored(200, ["Cache-Control": "max-age=60"], headers: ["Range": "bytes=0-1"]))
        #expect(try !Self.isStored(304, ["Cache-Control": "max-age=60"]))
    }

    @Test("Other statuses are stored where the server says for how long")
    func statuses() throws {
        #expect(try Self.isStored(404, ["Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT"]))
        #expect(try !Self.isStored(500, ["ETag": "\"a\""]))
        #expect(try !Self.isStored(500, [:]))
        #expect(try Self.isStored(500, ["Cache-Control": "max-age=60"]))
    }

    @Test("With must-understand, only a response whose status RFC 9110 defines is stored")
    func mustUnderstand() throws {
        for control in ["max-age=60, must-understand", "public, Must-Understand"] {
            for status in [200, 205, 300, 404, 417, 421, 422, 426, 500, 505] {
                #expect(try Self.isStored(status, ["Cache-Control": control]), "\(status)")
            }
            for status in [207, 226, 299, 306, 399, 418, 423, 451, 499, 506, 599] {
                #expect(try !Self.isStored(status, ["Cache-Control": control]), "\(status)")
            }
        }
        #expect(try Self.isStored(599, ["Cache-Control": "max-age=60"]))
        // The no-store is meant for caches that don't know must-understand, but counts here as well.
        #expect(try !Self.isStored(200, ["Cache-Control": "no-store, must-understand, max-age=60"]))
    }

    @Test(
        "Redirects, challenges, errors about the client, and answers about a condition or range are never stored",
        arguments: [301, 302, 303, 307, 308, 401, 407, 206, 304, 412, 416, 428, 429, 431, 511]
    )
    func passing(status: Int) throws {
        #expect(try !Self.isStored(status, ["Cache-Control": "public, max-age=60", "Location": "/x"]))
    }

    @Test("A response to a request with a credential is stored only if it is public")
    func challenged() throws {
        let demand = try CacheDemand(Sample.request(), policy: .useProtocolCachePolicy)
        func isStored(_ control: String) -> Bool {
            CacheStorability.isStorable(
                Sample.head(200, ["Cache-Control": control]),
                for: demand,
                audience: .everyoneIfPublic
            )
        }
        #expect(!isStored("max-age=60"))
        #expect(!isStored("private, max-age=60"))
        #expect(isStored("public, max-age=60"))
    }

    @Test("An answer about the whole outdates what is stored, whatever becomes of it")
    func superseding() throws {
        func supersedes(_ status: Int, _ method: String = "GET", _ headers: KeyValuePairs<String, String> = [:]) throws
            -> Bool
        {
            let demand = try CacheDemand(Sample.request("http://a/", method, headers), policy: .useProtocolCachePolicy)
            return CacheStorability.supersedes(Sample.head(status), for: demand)
        }
        for status in [200, 301, 401, 404, 500] { #expect(try supersedes(status), "\(status)") }
        for status in [206, 304, 412, 416] { #expect(try !supersedes(status), "\(status)") }
        #expect(try supersedes(200, "GET", ["Cache-Control": "no-store"]))
        #expect(try !supersedes(200, "GET", ["Range": "bytes=0-1"]))
        #expect(try !supersedes(200, "HEAD"))
    }

    @Test("A successful HEAD that asks for the whole tells what a GET would get")
    func describing() throws {
        #expect(try CacheStorability.describesGet(Sample.request("http://a/", "HEAD"), status: 200))
        for status in [204, 206, 304, 404, 500] {
            #expect(try !CacheStorability.describesGet(Sample.request("http://a/", "HEAD"), status: status))
        }
        for method in ["GET", "OPTIONS", "POST"] {
            #expect(try !CacheStorability.describesGet(Sample.request("http://a/", method), status: 200))
        }
        let part = try Sample.request("http://a/", "HEAD", ["Range": "bytes=0-1"])
        #expect(!CacheStorability.describesGet(part, status: 200))
        var request = try Sample.request("http://a/", "HEAD")
        request.httpBody = Data("x".utf8)
        #expect(!CacheStorability.describesGet(request, status: 200))
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(!CacheStorability.describesGet(request, status: 200))
    }

    @Test("A GET with a body, in whatever form, has nothing to do with the cache")
    func bodies() throws {
        for isStream in [true, false] {
            var request = try Sample.request()
            if isStream {
                request.httpBodyStream = InputStream(data: Data("x".utf8))
            } else {
                request.httpBody = Data("x".utf8)
            }
            let demand = CacheDemand(request, policy: .useProtocolCachePolicy)
            #expect(!demand.mayStore && demand.reading == .nothing)
        }
    }

    @Test("A response may take up a twentieth of the cache")
    func sizes() {
        #expect(CacheStorability.sizeLimit(memoryCapacity: 1000, diskCapacity: 4000) == 200)
        #expect(CacheStorability.sizeLimit(memoryCapacity: 1000, diskCapacity: 0) == 50)
    }

    @Test("A change makes its URL's response worthless, and those it names of the same origin")
    func invalidation() throws {
        for method in ["POST", "PUT", "DELETE", "PATCH", "PURGE"] {
            #expect(CacheStorability.invalidates(method, status: 204), "\(method)")
            #expect(!CacheStorability.invalidates(method, status: 404), "\(method)")
        }
        for method in [nil, "GET", "HEAD", "OPTIONS", "TRACE"] {
            #expect(!CacheStorability.invalidates(method, status: 200))
        }
        let head = Sample.head(201, ["Location": "/new", "Content-Location": "http://other/x"])
        let urls = try CacheStorability.invalidatedURLs(by: head, at: Sample.url("http://a/list"))
        #expect(urls.map(\.absoluteString) == ["http://a/list", "http://a/new"])
    }

    @Test("A change outdates its URL and those it names however they are written, with a user name or without")
    func invalidatedSpellings() throws {
        let head = Sample.head(201, ["Location": "http://u@a:80/new", "Content-Location": "HTTP://a?x"])
        let urls = try CacheStorability.invalidatedURLs(by: head, at: Sample.url("http://u:p@A/list"))
        #expect(urls.map(StoredResponse.key) == ["http://a/list", "http://a/new", "http://a/?x"])
    }

    // MARK: - Vary

    @Test(
        "A stored response answers requests with equal values of the fields in Vary, with the same credentials and Host"
    )
    func variants() {
        let head = Sample.head(200, ["Vary": "Accept-Language, X-Y", "vary": "z"])
        let german = ["accept-language": "de", "z": "1"]
        let stored = CacheVariant.fields(of: head) { german[$0] }
        #expect(CacheVariant.matches(head, stored: stored) { german[$0] })
        #expect(CacheVariant.matches(head, stored: stored) { german.merging(["other": "1"]) { $1 }[$0] })
        for change in [
            ["accept-language": "en"], ["x-y": ""], ["authorization": "Bearer x"], ["z": "2"], ["host": "other"],
        ] {
            #expect(!CacheVariant.matches(head, stored: stored) { german.merging(change) { $1 }[$0] }, "\(change)")
        }
    }

    @Test("A stored response doesn't answer requests whose fields have other bytes, even if Swift takes them for equal")
    func equivalentVariants() {
        let head = Sample.head(200, ["Vary": "X-Name"])
        let stored = CacheVariant.fields(of: head) { $0 == "x-name" ? "\u{E9}" : nil }
        #expect(CacheVariant.matches(head, stored: stored) { $0 == "x-name" ? "\u{E9}" : nil })
        #expect(!CacheVariant.matches(head, stored: stored) { $0 == "x-name" ? "e\u{301}" : nil })
    }

    @Test("What a response depends on is kept in a stock cache as it was, whatever it begins with")
    func variantInStockCache() throws {
        var stored = try Sample.stored("x", at: "http://a/")
        stored.variant = [HeaderField(name: "x", value: "\u{301}y"), HeaderField(name: "z", value: "")]
        #expect(StoredResponse(fromStockCache: stored.stockCachedResponse, key: stored.key)?.variant == stored.variant)
    }

    @Test("Values that are secrets are known as such")
    func secrets() {
        #expect(CacheVariant.holdsSecrets([HeaderField(name: "authorization", value: "x")]))
        #expect(CacheVariant.holdsSecrets([HeaderField(name: "cookie", value: "x")]))
        #expect(!CacheVariant.holdsSecrets([HeaderField(name: "accept", value: "x")]))
    }

    // MARK: - Time

    @Test("The budget is used up by spending, and comes back with time")
    func budget() {
        var budget = TimeBudget()
        let start = MonotonicTime.now
        func allows(after time: Duration) -> Bool { budget.allows(at: start + time) }
        #expect(allows(after: .zero))
        budget.spend(.milliseconds(600))
        #expect(!allows(after: .zero))
        #expect(!allows(after: .milliseconds(900)))
        #expect(allows(after: .milliseconds(1100)))
        // However long nothing was spent, the credit is bounded.
        #expect(allows(after: .seconds(100_000)))
        budget.spend(.milliseconds(600))
        #expect(!allows(after: .seconds(100_000)))
    }
}
