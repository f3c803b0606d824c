import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Protocol classes and uploads that can be resumed", .timeLimit(.minutes(1)))
struct ProtocolUploadTests {
    /// Would take the requests by which the session resumes uploads.
    private final class Questions: URLProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool {
            ["HEAD", "PATCH"].contains(request.httpMethod ?? "")
        }

        override func startLoading() {
            client?.urlProtocol(self, didFailWithError: URLError(.cannotLoadFromNetwork))
        }
    }

    @Test("A class that takes a resumed upload gets its own request, with all of the body")
    func whole() async throws {
        let network = MockNetwork { $0.answer("mine") }
        let rig = try UploadRig(heldAt: 2)
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: rig.request(["X-Key": "k"]), from: Data("body".utf8))
        task.resume()
        try await rig.delegate.offered.wait()
        let data = try #require(await task.cancelByProducingResumeData())
        let here = rig.server.url("/").absoluteString
        let there = String(decoding: data, as: UTF8.self)
            .replacingOccurrences(of: here, with: network.url().absoluteString)
        let session = network.session()
        defer { session.invalidateAndCancel() }
        let (body, _) = try await session.upload(resumeFrom: Data(there.utf8))
        #expect(body == Data("mine".utf8))
        let requests = network.requests.value
        #expect(requests.map(\.httpMethod) == ["POST"] && requests.map(\.url) == [network.url("/files")])
        #expect(requests.map(\.httpBody) == [Data("body".utf8)])
        #expect(requests.map { $0.value(forHTTPHeaderField: "X-Key") } == ["k"])
    }

    @Test("Requests that the session makes to resume an upload are offered to no class")
    func questions() async throws {
        let rig = try UploadRig(heldAt: 300_000, cuts: [600_000])
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let session = URLSession.forTest {
            $0.curl.temporaryDirectory = rig.directory.url
            $0.protocolClasses = [Questions.self]
        }
        defer { session.invalidateAndCancel() }
        let (body, _) = try await session.upload(resumeFrom: data)
        #expect(body == Data("done".utf8) && rig.upload.content == UploadRig.content)
        #expect(rig.requests.filter { $0 == "HEAD /uploads/1" }.count == 2)
        #expect(rig.requests.last == "PATCH /uploads/1")
    }
}
