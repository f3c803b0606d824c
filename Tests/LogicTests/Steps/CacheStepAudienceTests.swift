import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The cache step, and whom a connection shows")
struct CacheStepAudienceTests {
    private static let url = "https://example.com/"
    private let step = CacheStep()
    private let owner = TicketOwner()
    private let cache = CurlURLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)

    private func rig(_ configure: (inout CurlOptions) -> Void = { _ in }) throws -> StepRig {
        let rig = StepRig(try Sample.request(Self.url)) { configuration in
            configuration.urlCache = cache
            configure(&configuration.curl)
        }
        try rig.enter(owner)
        return rig
    }

    /// Notes what a delegate has decided about the server.
    private func decide(_ rig: StepRig, _ decide: (HandshakeCoordinator, Origin) -> Void) throws {
        let origin = try #require(Origin(Sample.url(Self.url)))
        rig.onLoop { decide(rig.pool.handshakes.scope(of: .session).coordinator, origin) }
    }

    /// Whether a response with that `Cache-Control` is gathered for the cache; `meanwhile` runs after its request was sent.
    private func isStored(_ control: String, _ rig: StepRig, meanwhile: () throws -> Void = {}) throws -> Bool {
        rig.sink = DelegateSink(rig.sinkOwner)
        #expect(rig.prepare(step).isPass)
        _ = try rig.plan(with: step)
        try meanwhile()
        let head = Sample.head(200, ["Cache-Control": control])
        let response = AcceptedResponse(
            response: TaskResponse(head, at: try Sample.url(Self.url)),
            head: head,
            request: rig.request,
            expected: 3
        )
        return step.accept(response, into: rig.sink, rig) !== rig.sink
    }

    /// What the cache has after the server, asked about this response, has said that it stays as it is and is good for an hour.
    private func confirmed(
        _ rig: StepRig,
        _ control: String = "max-age=1",
        effect: OptionEffect = .connection
    ) throws -> ResponseHead? {
        var stored = try Sample.stored("stale", at: Self.url)
        stored.head = Sample.head(200, ["Cache-Control": control, "ETag": "\"a\""])
        stored.received = Date() - 100
        stored.requested = stored.received
        let sent = SentFields(try Sample.request(Self.url), cookies: nil, rig)
        stored.variant = CacheVariant.fields(of: stored.head, value: sent.value)
        let store = try #require(rig.session.settings.cache)
        store.store(stored)
        #expect(rig.prepare(step).isPass)
        _ = try rig.plan(with: step)
        let head = Sample.head(304, ["Cache-Control": "max-age=3600", "ETag": "\"a\""])
        let received = ReceivedHead(head: head, request: try Sample.request(Self.url), effect: effect)
        guard case .load = step.receive(received, rig) else {
            throw URLError(.unknown)
        }
        guard case .known(let found) = store.find(Self.url, now: .now, isInsistent: true) else {
            throw URLError(.unknown)
        }
        return found?.head
    }

    private static let identity = TLSIdentity.pem(certificates: .data(Data("certificate".utf8)))

    @Test("A response over a verified connection is stored")
    func verified() throws {
        #expect(try isStored("max-age=60", rig()))
        #expect(try confirmed(rig())?["Cache-Control"] == "max-age=3600")
    }

    @Test("Where any certificate is accepted, nothing is stored, and no stored response changes")
    func anyCertificate() throws {
        for control in ["max-age=60", "public, max-age=60"] {
            #expect(try !isStored(control, rig { $0.hosts["example.com"].trustsAnyCertificate = true }))
        }
        let head = try confirmed(rig { $0.hosts["example.com"].trustsAnyCertificate = true })
        #expect(head?["Cache-Control"] == "max-age=1")
    }

    @Test("Where a delegate has accepted a certificate in spite of a problem, nothing is stored or changed")
    func accepted() throws {
        for hasProblem in [true, false] {
            let rig = try rig()
            try decide(rig) { $0.accept([[1]], of: $1, hasProblem: hasProblem) }
            #expect(try isStored("public, max-age=60", rig) != hasProblem)
            #expect(try confirmed(rig)?["Cache-Control"] == (hasProblem ? "max-age=1" : "max-age=3600"))
        }
    }

    @Test("That the delegate's decision is forgotten before the response comes makes no difference")
    func forgotten() throws {
        let rig = try rig()
        try decide(rig) { $0.accept([[1]], of: $1, hasProblem: true) }
        #expect(try !isStored("max-age=60", rig) { rig.onLoop { rig.pool.handshakes.forgetDecisions() } })
    }

    @Test("A response that the program's own options may have changed confirms no stored one")
    func configured() throws {
        for effect in [OptionEffect.exchange, .trust] {
            #expect(try confirmed(rig(), effect: effect)?["Cache-Control"] == "max-age=1")
        }
    }

    @Test("A response for which a client certificate was configured is stored only if it is public")
    func configuredIdentity() throws {
        #expect(try !isStored("max-age=60", rig { $0.tls.identity = Self.identity }))
        #expect(try isStored("public, max-age=60", rig { $0.tls.identity = Self.identity }))
        var options = CurlOptions.TLSOptions()
        options.identity = Self.identity
        #expect(try isStored("max-age=60", rig { $0.hosts["other.example"].tls = options }))
    }

    @Test("A response for which a delegate has supplied a certificate is stored only if it is public")
    func suppliedIdentity() throws {
        for isRejected in [false, true] {
            let rig = try rig()
            try decide(rig) { coordinator, origin in
                coordinator.show(Self.identity.certificate, to: origin)
                if isRejected { coordinator.forgetIdentity(for: origin) }
            }
            #expect(try !isStored("max-age=60", rig))
            #expect(try isStored("public, max-age=60", rig))
        }
        let none = try rig()
        try decide(none) { $0.show(nil, to: $1) }
        #expect(try isStored("max-age=60", none))
    }

    @Test("A confirmation that was got with a client certificate changes what is stored only if it makes that public")
    func confirmedWithIdentity() throws {
        let head = try confirmed(rig { $0.tls.identity = Self.identity })
        #expect(head?["Cache-Control"] == "max-age=1")
    }
}
