import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlTransport

@Suite("What libcurl is told about names", .timeLimit(.minutes(1)))
struct NameSettingsTests {
    private static func options(_ url: String, _ change: (inout NameSettings) -> Void) -> TransferOptions {
        var settings = NameSettings()
        change(&settings)
        var options = TransferOptions(url: url, method: "GET")
        options.connection = ConnectionProfile([settings])
        return options
    }

    @Test("The addresses of a transfer that ended before it began aren't used by another")
    func cancelledBeforeItBegan() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let options = Self.options("http://early.test:\(server.port)/") { settings in
            let addresses = (1...50).map { "127.0.0.\($0)" }
            settings.overrides = [.init(host: "early.test", port: server.port, addresses: addresses)]
        }
        try await LoopRig.use { rig in
            for _ in 0..<20 {
                let cancelled = RecordedTransfer()
                try await rig.perform { multi in
                    try cancelled.start(options, in: multi)
                    cancelled.cancel()
                }
                let next = try await rig.run(RecordedTransfer(), MultiTests.get(server))
                #expect(next.failure == nil)
                #expect(next.body == Data("hello".utf8))
            }
            // The addresses have not been left in the multi's memory of names.
            let transfer = try await rig.run(
                RecordedTransfer(),
                Self.options("http://early.test:\(server.port)/") { settings in
                    settings.overrides = [.init(host: "early.test", port: server.port, addresses: ["127.0.0.1"])]
                }
            )
            #expect(transfer.failure == nil)
        }
    }

    @Test(
        "The lifetime of addresses is counted in whole seconds",
        arguments: [
            (Duration.zero, 0), (.milliseconds(1), 1), (.seconds(60), 60), (.seconds(-5), 0),
            (.seconds(Int64.max), Int(Int32.max)),
        ]
    )
    func lifetime(duration: Duration, seconds: Int) {
        #expect(NameSettings.seconds(duration) == seconds)
    }

    @Test("libcurl takes every setting it was built for")
    func accepted() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let ports = UInt16(clamping: server.port)...UInt16.max
        let settings: [@Sendable (inout NameSettings) -> Void] = [
            { $0.connectTo = "127.0.0.1:\(server.port)" }, { $0.cacheLifetime = .zero }, { $0.ipVersion = .v4 },
            { $0.localEnd = .interface("lo") }, { $0.localEnd = .address("127.0.0.3", ports: nil) },
            { $0.localEnd = .address(nil, ports: ports) }, { $0.dnsOverHTTPS = "https://127.0.0.1/" },
        ]
        try await LoopRig.use { rig in
            for change in settings {
                let options = Self.options(server.url("/").absoluteString, change)
                let transfer = try await rig.run(RecordedTransfer(), options)
                #expect(transfer.failure == nil)
            }
        }
        #expect(server.requestCount == settings.count)
    }
}
