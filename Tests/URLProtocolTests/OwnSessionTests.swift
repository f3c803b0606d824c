import CurlNetworking
import CurlURLProtocol
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("CurlURLProtocol in a session of this module's", .timeLimit(.minutes(1)))
struct OwnSessionTests {
    @Test("CurlURLProtocol steps aside in a session of this module's, which has the same transport")
    func stepsAside() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest { $0.protocolClasses = [CurlURLProtocol.self] }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hello")
        #expect(server.requestCount == 1)
    }
}
