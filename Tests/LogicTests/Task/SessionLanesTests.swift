import Foundation
import Testing

@testable import CurlNetworking

@Suite("A session's lanes")
struct SessionLanesTests {
    static func settings(_ configure: (inout CurlOptions) -> Void) -> SessionSettings {
        let configuration = URLSessionConfiguration.ephemeral
        configure(&configuration.curl)
        return SessionSettings(configuration)
    }

    static func lanes(_ configure: (inout CurlOptions) -> Void) -> SessionLanes {
        SessionLanes(settings(configure), deliveryQueue: DeliveryQueue(OperationQueue()))
    }

    @Test("There are as many as asked for, each on a loop of its own")
    func count() {
        for count in [1, 2, 7] {
            let lanes = Self.lanes { $0.eventLoops = count }
            #expect(lanes.all.map(\.index) == Array(0..<count))
            #expect(Set(lanes.all.map { ObjectIdentifier($0.loop) }).count == count)
            #expect(lanes.first === lanes.all[0] && lanes.areSeveral == (count > 1))
        }
    }

    @Test("But no more than there may be connections")
    func fewConnections() {
        let few = Self.lanes { ($0.eventLoops, $0.maximumConnections) = (8, 3) }
        #expect(few.all.count == 3)
        let fewer = Self.lanes { ($0.eventLoops, $0.maximumConnections, $0.maximumKeptConnections) = (8, 3, 2) }
        #expect(fewer.all.count == 2)
    }

    @Test(
        "Their shares of a limit are the limit together, and differ by one at most",
        arguments: [(1, 10), (3, 10), (4, 4), (7, 100), (64, 65)]
    )
    func shares(count: Int, limit: Int) {
        let settings = Self.settings { ($0.maximumConnections, $0.maximumKeptConnections) = (limit, limit + 1) }
        let shares = (0..<count).map { settings.connectionLimits(onLoop: $0, of: count) }
        let totals = shares.compactMap(\.total)
        #expect(totals.reduce(0, +) == limit && shares.map(\.kept).reduce(0, +) == limit + 1)
        #expect((totals.max() ?? 0) - (totals.min() ?? 0) <= 1 && totals.allSatisfy { $0 >= 1 })
    }

    @Test("Without limits, each may keep as many connections as a session with one")
    func withoutLimits() {
        let settings = Self.settings { _ in }
        #expect(settings.connectionLimits(onLoop: 1, of: 4) == settings.connectionLimits(onLoop: 0, of: 1))
        #expect(settings.connectionLimits(onLoop: 0, of: 1).total == nil)
    }

    @Test("A task begins on the lane of its request's origin, and without one on the first")
    func beginnings() throws {
        let lanes = Self.lanes { $0.eventLoops = 3 }
        let urls = ["http://a/", "http://b/1", "https://b/", "http://b/2", "ftp://a/"]
        let requests = try urls.map { URLRequest(url: try Sample.url($0)) }
        let beginnings = requests.map { lanes.lane(forTask: $0).index }
        #expect(beginnings == [0, 1, 2, 1, 0])
        for url in ["data:,x", "file:///x", "http:///x", "what://x"] {
            let request = URLRequest(url: try Sample.url(url))
            #expect(lanes.lane(forTask: request) === lanes.first)
        }
        #expect(lanes.lane(forTask: nil) === lanes.first)
    }

    @Test("All are visited, each on its loop, and then the end is told")
    func visiting() async {
        let lanes = Self.lanes { $0.eventLoops = 5 }
        nonisolated(unsafe) var visited: [Int] = []
        await withCheckedContinuation { continuation in
            lanes.visit { lane in
                lane.loop.preconditionOnLoop()
                visited.append(lane.index)
            } completion: {
                continuation.resume()
            }
        }
        #expect(visited == [0, 1, 2, 3, 4])
    }
}
