import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The table of connection options")
struct ConnectionTableTests {
    typealias Options = CurlOptions.ConnectionOptions

    @Test("The table has a row for every property, and none for anything else")
    func complete() {
        let properties = Mirror(reflecting: Options()).children.compactMap(\.label)
        let rows = Options.table.map { row in row.name.prefix { $0 != "." } }
        #expect(Set(properties) == Set(rows.map(String.init)))
        #expect(Set(Options.table.map(\.name)).count == Options.table.count)
    }

    @Test(
        "The table names options that libcurl has had since the version that the row says",
        arguments: Options.table.indices
    )
    func names(index: Int) {
        let row = Options.table[index]
        #expect(row.isAvailable == (CurlLibrary.version >= row.since), "\(row.name)")
    }

    /// What libcurl is told about connections to `url`, in the order of the table.
    private static func settings(_ url: String, _ change: (inout CurlOptions) -> Void) throws -> [String] {
        let settings = Sample.settings { change(&$0.curl) }
        let plan = ConnectionPlan(settings, for: try #require(Origin(Sample.url(url))))
        return (plan.profile?.settings ?? []).compactMap { $0 as? NumberSetting }
            .map { "\($0.option.name) \($0.value)" + ($0.needsBody ? " with a body" : "") }
    }

    @Test("libcurl is told only options that are set, in its own units, rounded up")
    func units() throws {
        #expect(try Self.settings("http://a/") { _ in } == [])
        let all = try Self.settings("http://a/") {
            $0.connections.idleLifetime = .milliseconds(1500)
            $0.connections.lifetime = .seconds(Int64.max)
            $0.connections.keepAliveProbes = .init(idle: .seconds(20))
            $0.connections.usesNoDelay = false
            $0.connections.receiveBufferSize = 1 << 10
            $0.connections.sendBufferSize = 16 << 10
            $0.connections.connectTimeout = .nanoseconds(1)
            $0.connections.happyEyeballsDelay = .seconds(1)
            $0.connections.maximumReceiveRate = 5
            $0.connections.maximumSendRate = Int.max
            $0.connections.lowSpeedLimit = .init(bytesPerSecond: 7, duration: .seconds(8))
        }
        let lifetime = CurlLibrary.version >= CurlVersion(7, 80) ? ["MAXLIFETIME_CONN 2147483647"] : []
        #expect(
            all == ["MAXAGE_CONN 2"] + lifetime + [
                "TCP_KEEPALIVE 1", "TCP_KEEPIDLE 20", "TCP_KEEPINTVL 60", "TCP_NODELAY 0", "BUFFERSIZE 1024",
                "UPLOAD_BUFFERSIZE 16384 with a body", "CONNECTTIMEOUT_MS 1", "HAPPY_EYEBALLS_TIMEOUT_MS 1000",
                "MAX_RECV_SPEED_LARGE 5", "MAX_SEND_SPEED_LARGE \(Int.max)", "LOW_SPEED_LIMIT 7", "LOW_SPEED_TIME 8",
            ]
        )
    }

    @Test("The receive buffer is no smaller than an older libcurl needs where the server may speak HTTP/2")
    func smallestReceiveBuffer() throws {
        let smallest = CurlQuirks.current.forgetsHTTP2Input && CurlLibrary.hasHTTP2 ? 128 << 10 : 1 << 10
        let options: (inout CurlOptions) -> Void = {
            $0.connections.receiveBufferSize = 1 << 10
            $0.hosts["one.test"].httpVersion = .http1
            $0.hosts["large.test"].connections.receiveBufferSize = 512 << 10
        }
        #expect(try Self.settings("https://a.test/", options) == ["BUFFERSIZE \(smallest)"])
        #expect(try Self.settings("https://one.test/", options) == ["BUFFERSIZE 1024"])
        #expect(try Self.settings("http://a.test/", options) == ["BUFFERSIZE 1024"])
        #expect(try Self.settings("https://large.test/", options) == ["BUFFERSIZE 524288"])
    }

    @Test("The first host that has a property decides on all of it, and the session where none has")
    func merging() throws {
        let options: (inout CurlOptions) -> Void = {
            $0.connections.idleLifetime = .seconds(1)
            $0.connections.connectTimeout = .seconds(1)
            $0.connections.lowSpeedLimit = .init(bytesPerSecond: 1, duration: .seconds(1))
            $0.hosts["*"].connections.idleLifetime = .seconds(2)
            $0.hosts["*"].connections.lowSpeedLimit = .init(bytesPerSecond: 2, duration: .seconds(2))
            $0.hosts["a.test"].connections.idleLifetime = .seconds(3)
        }
        let low = ["LOW_SPEED_LIMIT 2", "LOW_SPEED_TIME 2"]
        #expect(try Self.settings("http://a.test/", options) == ["MAXAGE_CONN 3", "CONNECTTIMEOUT_MS 1000"] + low)
        #expect(try Self.settings("https://b.test/", options) == ["MAXAGE_CONN 2", "CONNECTTIMEOUT_MS 1000"] + low)
    }
}
