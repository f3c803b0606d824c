import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Responses that come late replace nothing newer", .timeLimit(.minutes(1)))
struct CacheLateTests {
    enum Kind: CaseIterable {
        case inMemory, onDisk, stock

        func cache(at directory: URL) -> URLCache {
            switch self {
            case .inMemory: CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
            case .onDisk: CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: directory.path)
            case .stock: URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: directory.path)
            }
        }
    }

    /// Answers its first GET when `gate` opens, all others at once, and with `control` instead of `max-age=1000` from the second on.
    private static func server(
        isAsked: Gate,
        gate: Gate,
        control: String = "max-age=1000"
    ) throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { request in
            guard request.method == "GET" else { return .status(204) }
            let isFirst = count.next() == 1
            let response: LoopbackServer.Response = isFirst ? .text("old") : .text("new")
            return response.header("Cache-Control", isFirst ? "max-age=1000" : control)
                .after(isFirst ? [.open(isAsked), .waitFor(gate)] : [])
        }
    }

    /// What is stored for the server's root.
    private static func stored(_ rig: Rig) async -> String? {
        await rig.session.load(URLRequest(url: rig.url("/"), cachePolicy: .returnCacheDataDontLoad)).text
    }

    @Test("A response that was requested before a change isn't stored after it", arguments: Kind.allCases)
    func changed(kind: Kind) async throws {
        let directory = try TemporaryDirectory()
        let (isAsked, gate) = (Gate(), Gate())
        let rig = try Rig(Self.server(isAsked: isAsked, gate: gate)) { $0.urlCache = kind.cache(at: directory.url) }
        defer { rig.stop() }
        async let slow = rig.session.load(rig.url("/"))
        try await isAsked.wait()
        #expect(await rig.session.load(URLRequest(rig.url("/"), method: "POST")).response?.statusCode == 204)
        gate.open()
        #expect(await slow.text == "old")
        #expect(await Self.stored(rig) == nil)
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/")).text == "new") }
        #expect(rig.server.requestCount == 3)
        await rig.session.flush()
    }

    /// What is stored once a response has come to a later request, and then one to an earlier.
    private static func storedAfterOvertaking(_ kind: Kind, control: String) async throws -> String? {
        let directory = try TemporaryDirectory()
        let (isAsked, gate) = (Gate(), Gate())
        let rig = try Rig(server(isAsked: isAsked, gate: gate, control: control)) {
            $0.urlCache = kind.cache(at: directory.url)
        }
        defer { rig.stop() }
        async let slow = rig.session.load(rig.url("/"))
        try await isAsked.wait()
        #expect(await rig.session.load(rig.url("/")).text == "new")
        gate.open()
        #expect(await slow.text == "old")
        let text = await stored(rig)
        await rig.session.flush()
        return text
    }

    @Test("A late response doesn't replace the stored response to a later request", arguments: Kind.allCases)
    func overtaken(kind: Kind) async throws {
        #expect(try await Self.storedAfterOvertaking(kind, control: "max-age=1000") == "new")
    }

    @Test(
        "A late response isn't stored after the response to a later request, though that isn't stored",
        arguments: Kind.allCases
    )
    func superseded(kind: Kind) async throws {
        #expect(try await Self.storedAfterOvertaking(kind, control: "no-store") == nil)
    }

    @Test("A response that isn't stored drops what was stored after its request was sent", arguments: Kind.allCases)
    func supersededMeanwhile(kind: Kind) async throws {
        let directory = try TemporaryDirectory()
        let (olderIsAsked, olderGate) = (Gate(), Gate())
        let (newerIsAsked, newerGate) = (Gate(), Gate())
        let count = Counter()
        let server = try LoopbackServer { _ in
            count.next() == 1
                ? .text("old").header("Cache-Control", "max-age=1000").after([.open(olderIsAsked), .waitFor(olderGate)])
                : .text("new").header("Cache-Control", "no-store").after([.open(newerIsAsked), .waitFor(newerGate)])
        }
        let rig = Rig(server) { $0.urlCache = kind.cache(at: directory.url) }
        defer { rig.stop() }
        async let older = rig.session.load(rig.url("/"))
        try await olderIsAsked.wait()
        async let newer = rig.session.load(rig.url("/"))
        try await newerIsAsked.wait()
        olderGate.open()
        #expect(await older.text == "old")
        #expect(await Self.stored(rig) == "old")
        newerGate.open()
        #expect(await newer.text == "new")
        #expect(await Self.stored(rig) == nil)
        await rig.session.flush()
    }

    @Test(
        "A response isn't stored if the program has removed what is stored since its request",
        arguments: ["one", "all", "since", "reset"]
    )
    func removed(what: String) async throws {
        let (isAsked, gate) = (Gate(), Gate())
        let rig = try Rig(Self.server(isAsked: isAsked, gate: gate))
        defer { rig.stop() }
        let cache = try #require(rig.session.configuration.urlCache)
        async let slow = rig.session.load(rig.url("/"))
        try await isAsked.wait()
        switch what {
        case "one": cache.removeCachedResponse(for: URLRequest(url: rig.url("/")))
        case "all": cache.removeAllCachedResponses()
        case "since": cache.removeCachedResponses(since: .distantPast)
        default: await rig.session.reset()
        }
        gate.open()
        #expect(await slow.text == "old")
        #expect(await Self.stored(rig) == nil)
        #expect(await rig.session.load(rig.url("/")).text == "new")
        #expect(await Self.stored(rig) == "new")
    }

    @Test("A confirmation that a change has overtaken brings nothing back")
    func confirmed() async throws {
        let (isAsked, gate) = (Gate(), Gate())
        let rig = try Rig { request in
            guard request.method == "GET" else { return .status(204) }
            return request.header("If-None-Match") == nil
                ? .text("old").headers(["ETag": "\"a\"", "Cache-Control": "max-age=0"])
                : .status(304).header("Cache-Control", "max-age=1000").after([.open(isAsked), .waitFor(gate)])
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "old")
        async let slow = rig.session.load(rig.url("/"))
        try await isAsked.wait()
        _ = await rig.session.load(URLRequest(rig.url("/"), method: "DELETE"))
        gate.open()
        #expect(await slow.text == "old")
        #expect(await Self.stored(rig) == nil)
    }

    /// Keeps the first question whether a response may be stored; allows the others.
    private final class HesitantDelegate: NSObject, URLSessionDataDelegate {
        /// Called with whether it may.
        let kept = Watched<(@Sendable (Bool) -> Void)?>(nil)
        let completed = Watched(0)

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            let isKept = kept.update { kept in
                defer { kept = kept ?? { completionHandler($0 ? proposedResponse : nil) } }
                return kept == nil
            }
            if !isKept { completionHandler(proposedResponse) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completed.update { $0 += 1 }
        }
    }

    @Test(
        "A delegate's late answer neither stores what has been replaced meanwhile nor removes what has replaced it",
        arguments: [true, false]
    )
    func answeredLate(mayBeStored: Bool) async throws {
        let count = Counter()
        let delegate = HesitantDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .text("\(count.next())").header("Cache-Control", "max-age=1000")
        }
        defer { rig.stop() }
        for number in 1...2 {
            rig.session.dataTask(with: rig.url("/")).resume()
            try await delegate.completed.wait { $0 == number }
        }
        #expect(await Self.stored(rig) == "2")
        delegate.kept.value?(mayBeStored)
        #expect(await Self.stored(rig) == "2")
    }
}
