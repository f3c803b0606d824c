import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Stored responses that redirects lead to", .timeLimit(.minutes(1)))
struct CacheRedirectTests {
    private static let secrets = [
        "Authorization": "Bearer secret", "Cookie": "a=secret", "Proxy-Authorization": "Basic secret",
    ]

    /// Answers with the number of the request, which may be used while it is revalidated; redirects `/from` to `/to`.
    private static func server(redirectingTo target: URL? = nil) throws -> LoopbackServer {
        let count = Counter()
        return try LoopbackServer { request in
            guard request.path != "/from" else { return target.map { .redirect(to: $0) } ?? .redirect(to: "/to") }
            return .text("\(count.next())").header("Cache-Control", "max-age=0, stale-while-revalidate=1000")
        }
    }

    @Test("After a redirect within the origin, a stale response is validated with the configuration's credentials")
    func sameOrigin() async throws {
        let rig = try Rig(Self.server()) { $0.httpAdditionalHeaders = Self.secrets }
        defer { rig.stop() }
        for _ in 1...2 { #expect(await rig.session.load(rig.url("/from")).text == "1") }
        let validation = try await rig.server.request(number: 4)
        #expect(validation.path == "/to")
        #expect(validation.header("Authorization") == "Bearer secret")
    }

    @Test("After a redirect to another origin, the task asks the server without the configuration's credentials")
    func otherOrigin() async throws {
        let other = try Self.server()
        defer { other.stop() }
        let rig = try Rig(Self.server(redirectingTo: other.url("/to"))) { $0.httpAdditionalHeaders = Self.secrets }
        defer { rig.stop() }
        for number in 1...2 {
            #expect(await rig.session.load(rig.url("/from")).text == "\(number)")
            let request = try await other.request(number: number)
            for name in Self.secrets.keys { #expect(request.header(name) == nil) }
        }
        #expect(other.requestCount == 2)
    }
}
