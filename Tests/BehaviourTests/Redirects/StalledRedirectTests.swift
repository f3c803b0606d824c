import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A response that another request follows, and whose body never ends", .timeLimit(.minutes(1)))
struct StalledRedirectTests {
    /// Sends a head, some of its body, and nothing more.
    private static func stalled(_ head: String) -> LoopbackServer.Response {
        .raw([.bytes("HTTP/1.1 \(head)\r\n\r\nsome"), .never])
    }

    @Test(
        "A redirect whose body never ends is followed",
        arguments: [
            "X-A: b", "Content-Length: 100", "Content-Length: 1000000", "Transfer-Encoding: chunked\r\n\r\n8",
        ]
    )
    func redirect(fields: String) async throws {
        let rig = try Rig { request in
            request.path == "/to" ? .text("arrived") : Self.stalled("302 Found\r\nLocation: /to\r\n\(fields)")
        }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/from"), timeout: 10))
        #expect(result.error == nil)
        #expect(result.text == "arrived")
    }

    @Test("A redirect whose body comes a byte now and then holds up no task")
    func drip() async throws {
        let head = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 60000\r\n\r\n"
        let rig = try Rig { request in
            guard request.path == "/from" else { return .text("arrived") }
            return .raw([
                .bytes(head), .throttle(bytesPerSecond: 100), .body(.generated(length: 60_000)),
            ])
        }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/from"), timeout: 10))
        #expect(result.error == nil)
        #expect(result.text == "arrived")
    }

    @Test("A challenge whose body never ends is answered")
    func challenge() async throws {
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        })
        let rig = try Rig(delegate: delegate) { request in
            request.header("Authorization") == nil
                ? Self.stalled("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"") : .text("arrived")
        }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), timeout: 10))
        #expect(result.text == "arrived")
    }
}
