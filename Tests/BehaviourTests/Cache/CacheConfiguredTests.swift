import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The cache, and sessions that set libcurl's options on transfers", .timeLimit(.minutes(1)))
struct CacheConfiguredTests {
    private let cache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)

    private func session(_ configure: (@Sendable (inout CurlTransfer) throws -> Void)? = nil) -> URLSession {
        URLSession.forTest { configuration in
            configuration.urlCache = cache
            guard let configure else { return }
            configuration.curl.configureTransfer = { transfer, _ in try configure(&transfer) }
        }
    }

    /// What the session with those options gets, and then one without any.
    private func loads(
        _ configure: @escaping @Sendable (inout CurlTransfer) throws -> Void
    ) async throws -> [String?] {
        let count = Counter()
        // A body whose length is ignored ends with its connection.
        let server = try LoopbackServer { _ in
            .text("\(count.next())").headers(["Cache-Control": "max-age=1000", "Vary": "User-Agent"]).closing()
        }
        defer { server.stop() }
        let (configured, other) = (session(configure), session())
        defer { for session in [configured, other] { session.invalidateAndCancel() } }
        return [await configured.load(server.url("/")).text, await other.load(server.url("/")).text]
    }

    private static let options = ofExchange.keys.sorted()

    /// Options that change what is asked for, or how the answer is read.
    private static let ofExchange: [String: @Sendable (inout CurlTransfer) throws -> Void] = [
        "HTTP_TRANSFER_DECODING": { try $0.set("HTTP_TRANSFER_DECODING", false) },
        "IGNORE_CONTENT_LENGTH": { try $0.set("IGNORE_CONTENT_LENGTH", true) },
        "REQUEST_TARGET": { try $0.set("REQUEST_TARGET", "/other") },
        "REFERER": { try $0.set("REFERER", "http://a/") },
        "ACCEPT_ENCODING": { try $0.set("ACCEPT_ENCODING", nil) },
        "FAILONERROR, and one of the connection": {
            try $0.set("FAILONERROR", true)
            try $0.set("TCP_NODELAY", true)
        },
    ]

    @Test("A response isn't stored if configureTransfer changes more than the connection", arguments: options)
    func exchange(name: String) async throws {
        #expect(try await loads(#require(Self.ofExchange[name])) == ["1", "2"])
    }

    @Test("A response is stored for all if configureTransfer changes only the connection")
    func connection() async throws {
        let texts = try await loads {
            try $0.set("TCP_NODELAY", true)
            try $0.set("DNS_CACHE_TIMEOUT", 1)
            try $0.set("CONNECTTIMEOUT_MS", 10_000)
            try $0.set("MAXFILESIZE", 1000)
            try $0.set("IPRESOLVE", 1)
        }
        #expect(texts == ["1", "1"])
    }
}
