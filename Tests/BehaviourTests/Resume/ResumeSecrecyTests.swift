import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Resume data hold no credentials", .timeLimit(.minutes(1)))
struct ResumeSecrecyTests {
    @Test("Resume data has no credentials, neither of the request's fields, nor of its URL, nor of the session")
    func secrets() async throws {
        let origin = try ResumeOrigin()
        let directory = try TemporaryDirectory()
        var components = try #require(URLComponents(url: origin.url, resolvingAgainstBaseURL: false))
        components.user = "SECRET-user"
        components.password = "SECRET-password"
        let url = try #require(components.url)
        let request = URLRequest(
            url,
            headers: [
                "authorization": "Bearer SECRET-token", "Proxy-Authorization": "Basic SECRET-proxy",
                "COOKIE": "session=SECRET-cookie", "X-Harmless": "kept",
            ]
        )
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate) {
            $0.httpAdditionalHeaders = ["X-Api-Key": "SECRET-key", "Authorization": "SECRET-default"]
        }
        let task = session.downloadTask(with: request)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: ResumeOrigin.heldAt) }
        let data = try #require(await task.cancelByProducingResumeData())
        let text = String(decoding: data, as: UTF8.self)
        for encoding in [text, text.removingPercentEncoding ?? "", text.base64Decoded] {
            #expect(!encoding.contains("SECRET"))
        }
        #expect(text.contains("X-Harmless"))

        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        let second = try await origin.server.request(number: 2)
        #expect(!String(decoding: second.rawHead, as: UTF8.self).contains("SECRET"))
        #expect(second.header("Authorization") == nil)
    }
}

extension String {
    /// What stands in the elements that hold Base64.
    fileprivate var base64Decoded: String {
        components(separatedBy: ["<", ">"]).compactMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }
            .map { String(decoding: $0, as: UTF8.self) }.joined()
    }
}
