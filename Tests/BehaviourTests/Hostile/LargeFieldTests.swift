import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Fields larger than any that makes sense", .timeLimit(.minutes(1)))
struct LargeFieldTests {
    @Test("A response's field of a million bytes is a bad response")
    func response() async throws {
        let value = String(repeating: "x", count: 1_000_000)
        let rig = try Rig { _ in .text("hello").header("X-Long", value) }
        defer { rig.stop() }
        #expect(await rig.session.load(URLRequest(rig.url("/"))).error?.code == .badServerResponse)
    }

    @Test("A request's field of 400 KiB is sent whole, or the task fails where libcurl can't")
    func request() async throws {
        let value = String(repeating: "x", count: 400 * 1024)
        var options = LoopbackServer.Options()
        options.headLimit = 1 << 20
        let rig = try Rig(options: options) {
            .text($0.headers(named: "X-Long") == [value] ? "whole" : "not whole")
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"))
        request.setValue(value, forHTTPHeaderField: "X-Long")
        let result = await rig.session.load(request)
        if CurlQuirks.current.dropsLargeFields {
            #expect(result.error?.code == .dataLengthExceedsMaximum)
            #expect(rig.server.requests.isEmpty)
        } else {
            #expect(result.text == "whole")
        }
    }
}
