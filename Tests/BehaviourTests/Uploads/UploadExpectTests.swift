import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploads that wait for 100 Continue", .timeLimit(.minutes(1)))
struct UploadExpectTests {
    private func request(_ url: URL) -> URLRequest {
        URLRequest(url, method: "POST", headers: ["Expect": "100-continue"], body: Data("the body".utf8))
    }

    @Test("After the 100, the body is sent")
    func continued() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        #expect(await rig.session.load(request(rig.url("/"))).text == "8")
        #expect(rig.server.requests.map { $0.header("Expect") } == ["100-continue"])
    }

    @Test(
        "Any other answer is the response; no body is sent, and the next request isn't taken for it",
        arguments: [200, 204, 302, 401, 417, 500]
    )
    func answered(status: Int) async throws {
        let rig = try Rig(answering: .atHead) { request in
            request.path == "/" ? .status(status).header("X-Is", "first") : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        for _ in 0..<3 {
            let first = await rig.session.load(request(rig.url("/")))
            #expect(first.error == nil)
            #expect(first.response?.statusCode == status)
            #expect(first.response?.value(forHTTPHeaderField: "X-Is") == "first")
            #expect(first.text == "")
            #expect(await rig.session.load(rig.url("/second")).text == "second")
        }
        #expect(rig.server.requests.map(\.path) == ["/", "/second", "/", "/second", "/", "/second"])
        #expect(rig.server.requests.map(\.bodyLength) == [0, 0, 0, 0, 0, 0])
    }
}
