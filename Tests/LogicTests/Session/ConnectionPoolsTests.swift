import Foundation
import Testing

@testable import CurlNetworking

@Suite("A session's pools")
struct ConnectionPoolsTests {
    static func settings(_ configure: (inout CurlOptions) -> Void) -> SessionSettings {
        let configuration = URLSessionConfiguration.ephemeral
        configure(&configuration.curl)
        return SessionSettings(configuration)
    }

    static func pools(_ configure: (inout CurlOptions) -> Void) -> ConnectionPools {
        ConnectionPools(settings(configure), deliveryQueue: DeliveryQueue(OperationQueue()))
    }

    @Test("There are as many pools as asked for, each on a loop of its own")
    func count() {
        for count in [1, 2, 7] {
            let pools = Self.pools { $0.eventLoops = count }
            #expect(pools.all.map(\.index) == Array(0..<count))
            #expect(Set(pools.all.map { ObjectIdentifier($0.loop) }).count == count)
            #expect(pools.first === pools.all[0] && pools.areSeveral == (count > 1))
        }
    }

    @Test("There are no more pools than there may be connections")
    func fewConnections() {
        let few = Self.pools { ($0.eventLoops, $0.maximumConnections) = (8, 3) }
        #expect(few.all.count == 3)
        let fewer = Self.pools { ($0.eventLoops, $0.maximumConnections, $0.maximumKeptConnections) = (8, 3, 2) }
        #expect(fewer.all.count == 2)
    }

    @Test(
        "The pools' shares of a limit add up to the limit, and differ by one at most",
        arguments: [(1, 10), (3, 10), (4, 4), (7, 100), (64, 65)]
    )
    func shares(count: Int, limit: Int) {
        let settings = Self.settings { ($0.maximumConnections, $0.maximumKeptConnections) = (limit, limit + 1) }
        let shares = (0..<count).map { settings.limits.share(ofLoop: $0, of: count) }
        let totals = shares.compactMap(\.total)
        #expect(totals.reduce(0, +) == limit && shares.map(\.kept).reduce(0, +) == limit + 1)
        #expect((totals.max() ?? 0) - (totals.min() ?? 0) <= 1 && totals.allSatisfy { $0 >= 1 })
    }

    @Test("Without limits, each pool may keep as many connections as a session with one")
    func withoutLimits() {
        let settings = Self.settings { _ in }
        #expect(settings.limits.share(ofLoop: 1, of: 4) == settings.limits.share(ofLoop: 0, of: 1))
        #expect(settings.limits.share(ofLoop: 0, of: 1).total == nil)
    }

    @Test("A task begins on the pool of its request's origin, and without one on the first")
    func beginnings() throws {
        let pools = Self.pools { $0.eventLoops = 3 }
        let urls = ["http://a/", "http://b/1", "https://b/", "http://b/2", "ftp://a/"]
        let requests = try urls.map { URLRequest(url: try Sample.url($0)) }
        let beginnings = requests.map { pools.pool(forTask: $0).index }
        #expect(beginnings == [0, 1, 2, 1, 0])
        for url in ["data:,x", "file:///x", "http:///x", "what://x"] {
            let request = URLRequest(url: try Sample.url(url))
            #expect(pools.pool(forTask: request) === pools.first)
        }
        #expect(pools.pool(forTask: nil) === pools.first)
    }

    @Test("All pools are visited, each on its loop, and then the end is told")
    func visiting() async {
        let pools = Self.pools { $0.eventLoops = 5 }
        nonisolated(unsafe) var visited: [Int] = []
        await withCheckedContinuation { continuation in
            pools.visit { pool in
                pool.loop.preconditionOnLoop()
                visited.append(pool.index)
            } completion: {
                continuation.resume()
            }
        }
        #expect(visited == [0, 1, 2, 3, 4])
    }

    @Test("The origins of tasks that need no connection don't accumulate")
    func unknownOrigins() async throws {
        let pools = Self.pools { $0.eventLoops = 2 }
        for round in 0..<10 {
            for number in 0..<5000 {
                let request = URLRequest(url: try Sample.url("http://host\(number).round\(round).example/"))
                _ = pools.pool(forTask: request)
            }
            // Follows what the loops were asked for meanwhile.
            await withCheckedContinuation { continuation in
                pools.visit({ _ in }, completion: { continuation.resume() })
            }
        }
        #expect(pools.originCount <= 10_000)
    }
}
