import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The cache step, and fields that every request has")
struct CacheStepVariantTests {
    private let step = CacheStep()
    private let owner = TicketOwner()
    private let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)

    static let names = ["User-Agent", "Accept-Language", "Accept-Encoding"]

    private func rig(_ configure: (URLSessionConfiguration) -> Void = { _ in }) throws -> StepRig {
        let rig = StepRig(try Sample.request()) { configuration in
            configuration.urlCache = cache
            configure(configuration)
        }
        try rig.enter(owner)
        return rig
    }

    /// Whether a fresh response that varies by `name` is the task's, if it was stored for that value; nil for one that the program has
    /// stored.
    private func isUsed(_ name: String, _ variant: [HeaderField]?, _ rig: StepRig) throws -> Bool {
        var stored = try Sample.stored("stored", at: "http://example.com/")
        stored.head = Sample.head(200, ["Cache-Control": "max-age=1000", "Vary": name])
        (stored.requested, stored.received) = (Date(), Date())
        stored.variant = variant
        rig.session.settings.cache?.store(stored)
        return rig.prepare(step).transfer != nil
    }

    @Test("The values that a response is compared by are those that are sent", arguments: names)
    func sent(name: String) throws {
        let rig = try rig()
        let request = try #require(rig.request)
        let value = try #require(SentFields(request, cookies: nil, rig).value(of: name.lowercased()))
        #expect(try rig.plan(with: step).options?.headers.contains("\(name): \(value)") == true)
    }

    @Test("The session's own values count before the defaults, and the request's before those")
    func chosen() throws {
        let rig = try rig { $0.httpAdditionalHeaders = ["User-Agent": "session"] }
        var request = try #require(rig.request)
        #expect(SentFields(request, cookies: nil, rig).value(of: "user-agent") == "session")
        request.setValue("request", forHTTPHeaderField: "User-Agent")
        #expect(SentFields(request, cookies: nil, rig).value(of: "user-agent") == "request")
    }

    @Test(
        "Responses that vary by cookies are compared by the field that is sent, with the program's and the stored ones",
        arguments: [
            (nil, "a=2; b=3", "a=2; b=3"), ("a=1", "a=2; b=3", "a=1; b=3"), ("a=1; a=2", "b=3", "a=1; a=2; b=3"),
            ("c=1", "c=1", "c=1"), ("c=1;", nil, "c=1;"),
        ] as [(String?, String?, String)]
    )
    func cookies(own: String?, stored: String?, sent: String) throws {
        let rig = try rig()
        rig.request?.setValue(own, forHTTPHeaderField: "Cookie")
        let request = try #require(rig.request)
        #expect(SentFields(request, cookies: stored, rig).value(of: "cookie") == sent)
        var options = try #require(try rig.plan(with: step).options)
        if let stored { options.addCookies(stored) }
        #expect(options.headers.contains("Cookie: \(sent)"))
    }

    @Test("A response that varies by a default field isn't used for a request with another value", arguments: names)
    func other(name: String) throws {
        let rig = try rig()
        let request = try #require(rig.request)
        let own = try #require(SentFields(request, cookies: nil, rig).value(of: name.lowercased()))
        #expect(try isUsed(name, [HeaderField(name: name.lowercased(), value: own)], rig))
        #expect(try !isUsed(name, [HeaderField(name: name.lowercased(), value: own + "2")], rig))
        #expect(try !isUsed(name, [], rig))
    }

    @Test(
        "A response that the program has stored is used if neither request nor session has chosen a value",
        arguments: names
    )
    func programs(name: String) throws {
        #expect(try isUsed(name, nil, rig()))
        #expect(try !isUsed(name, nil, rig { $0.httpAdditionalHeaders = [name: "own"] }))
    }
}
