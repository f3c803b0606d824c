import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Options of connections that make no sense, or that libcurl lacks")
struct ConnectionOptionsTests {
    typealias Change = @Sendable (inout CurlOptions) -> Void

    static let bad: [(option: String, change: Change)] = [
        ("temporaryDirectory", { if let url = URL(string: "https://h/tmp") { $0.temporaryDirectory = url } }),
        ("temporaryDirectory", { if let url = URL(string: "/tmp") { $0.temporaryDirectory = url } }),
        ("maximumConnections", { $0.maximumConnections = 0 }),
        ("maximumKeptConnections", { $0.maximumKeptConnections = 0 }),
        ("maximumStreamsPerConnection", { $0.maximumStreamsPerConnection = -1 }),
        ("eventLoops", { $0.eventLoops = 0 }),
        ("eventLoops", { $0.eventLoops = 65 }),
        ("connections.idleLifetime", { $0.connections.idleLifetime = .zero }),
        ("connections.lifetime", { $0.connections.lifetime = .seconds(-1) }),
        ("connections.connectTimeout", { $0.connections.connectTimeout = .zero }),
        ("connections.happyEyeballsDelay", { $0.connections.happyEyeballsDelay = .zero }),
        ("connections.keepAliveProbes.idle", { $0.connections.keepAliveProbes = .init(idle: .zero) }),
        ("connections.keepAliveProbes.interval", { $0.connections.keepAliveProbes = .init(interval: .zero) }),
        ("connections.receiveBufferSize", { $0.connections.receiveBufferSize = 1000 }),
        ("connections.receiveBufferSize", { $0.connections.receiveBufferSize = 1 << 20 }),
        ("connections.sendBufferSize", { $0.connections.sendBufferSize = 1000 }),
        ("connections.maximumReceiveRate", { $0.connections.maximumReceiveRate = 0 }),
        ("connections.maximumSendRate", { $0.connections.maximumSendRate = 0 }),
        (
            "connections.lowSpeedLimit.bytesPerSecond",
            { $0.connections.lowSpeedLimit = .init(bytesPerSecond: 0, duration: .seconds(1)) }
        ),
        (
            "connections.lowSpeedLimit.duration",
            { $0.connections.lowSpeedLimit = .init(bytesPerSecond: 1, duration: .zero) }
        ),
        ("hosts[\"a\"].connections.connectTimeout", { $0.hosts["a"].connections.connectTimeout = .zero }),
    ]

    @Test("The error names the option that is wrong", arguments: bad)
    func named(option: String, change: Change) {
        var options = CurlOptions()
        change(&options)
        #expect { try options.validate() } throws: { ($0 as? CurlOptionsError)?.option == option }
    }

    @Test("HTTP/3 and the number of probes need what this libcurl may not have")
    func missing() {
        var options = CurlOptions()
        options.httpVersion = .http3
        expect(options, "httpVersion", needs: "HTTP/3", where: CurlLibrary.hasHTTP3)
        options = CurlOptions()
        options.hosts["a"].httpVersion = .http3
        expect(options, "hosts[\"a\"].httpVersion", needs: "HTTP/3", where: CurlLibrary.hasHTTP3)
        options = CurlOptions()
        options.connections.keepAliveProbes = .init(count: 3)
        expect(
            options,
            "connections.keepAliveProbes.count",
            needs: "8.9.0",
            where: CurlLibrary.version >= CurlVersion(8, 9)
        )
    }

    /// The error names the option, what it needs and what there is.
    private func expect(_ options: CurlOptions, _ option: String, needs need: String, where hasIt: Bool) {
        do {
            try options.validate()
            #expect(hasIt)
        } catch {
            #expect(!hasIt)
            #expect(error.option == option)
            #expect(error.reason.contains(need) && error.reason.contains(CurlLibrary.versionText))
        }
    }

    @Test("Options that every libcurl from 7.80 on has are accepted")
    func good() throws {
        var options = CurlOptions()
        options.maximumConnections = 100
        options.maximumKeptConnections = 10
        options.maximumStreamsPerConnection = 10
        options.eventLoops = 64
        options.httpVersion = .http2PriorKnowledge
        options.hosts["*"].httpVersion = .http1
        options.connections.idleLifetime = .seconds(10)
        options.connections.lifetime = .seconds(100)
        options.connections.keepAliveProbes = .init()
        options.connections.lowSpeedLimit = .init(bytesPerSecond: 1, duration: .seconds(1))
        options.hosts["a"].connections = options.connections
        try options.validate()
    }
}
