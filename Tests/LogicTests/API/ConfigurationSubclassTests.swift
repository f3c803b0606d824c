import Foundation
import Testing

@testable import CurlNetworking

@Suite("A subclass of URLSessionConfiguration")
struct ConfigurationSubclassTests {
    private final class Own: URLSessionConfiguration, @unchecked Sendable {
        override var protocolClasses: [AnyClass]? {
            get { [URLProtocol.self] }
            set {}
        }

        override var httpAdditionalHeaders: [AnyHashable: Any]? {
            get { ["X-Own": "yes"] }
            set {}
        }

        override var timeoutIntervalForRequest: TimeInterval {
            get { 7 }
            set {}
        }
    }

    @Test("What a subclass of a configuration overrides counts as if it had been set, and what was set stays")
    @available(*, deprecated)
    func overrides() {
        let configuration = Own()
        configuration.waitsForConnectivity = true
        configuration.curl.eventLoops = 3
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        #expect(session.configuration.timeoutIntervalForRequest == 7)
        #expect(session.configuration.protocolClasses?.count == 1)
        #expect(session.configuration.httpAdditionalHeaders?["X-Own"] as? String == "yes")
        #expect(session.configuration.waitsForConnectivity)
        #expect(session.configuration.curl.eventLoops == 3)
        #expect(
            session.configuration.tlsMinimumSupportedProtocolVersion == configuration.tlsMinimumSupportedProtocolVersion
        )
    }
}
