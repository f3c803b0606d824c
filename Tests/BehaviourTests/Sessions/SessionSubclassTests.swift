import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

/// What programs do with subclasses of the stock module's session, in which no public method calls another one.
@Suite("Subclasses of URLSession", .timeLimit(.minutes(1)))
struct SessionSubclassTests {
    /// Makes the tasks for requests from their URLs, and counts.
    private final class Rerouting: URLSession, @unchecked Sendable {
        let calls = Watched<[String]>([])

        private func note(_ call: String) { calls.update { $0.append(call) } }

        override func dataTask(with request: URLRequest) -> URLSessionDataTask {
            note("data request")
            return super.dataTask(with: request.url ?? URL(fileURLWithPath: "/"))
        }

        override func dataTask(with url: URL) -> URLSessionDataTask {
            note("data URL")
            return super.dataTask(with: url)
        }

        override func dataTask(
            with request: URLRequest,
            completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
        ) -> URLSessionDataTask {
            note("data request, handler")
            return super.dataTask(
                with: request.url ?? URL(fileURLWithPath: "/"),
                completionHandler: completionHandler
            )
        }

        override func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
            note("download request")
            return super.downloadTask(with: request.url ?? URL(fileURLWithPath: "/"))
        }

        override func downloadTask(
            with request: URLRequest,
            completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
        ) -> URLSessionDownloadTask {
            note("download request, handler")
            return super.downloadTask(
                with: request.url ?? URL(fileURLWithPath: "/"),
                completionHandler: completionHandler
            )
        }

        override func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
            note("web socket protocols")
            return super.webSocketTask(with: url)
        }
    }

    @Test("An override may call any other method's original, and is called for its own method alone")
    func overrides() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Rerouting(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        let request = URLRequest(url: url)
        let data = await withCheckedContinuation { continuation in
            session.dataTask(with: request) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(data == Data("hello".utf8))
        let dataOfURL = await withCheckedContinuation { continuation in
            session.dataTask(with: url) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(dataOfURL == Data("hello".utf8))
        let tasks: [URLSessionTask] = [
            session.dataTask(with: request), session.dataTask(with: url), session.downloadTask(with: request),
            session.downloadTask(with: url), session.downloadTask(with: request) { _, _, _ in },
            session.downloadTask(with: url) { _, _, _ in }, session.webSocketTask(with: url, protocols: []),
            session.webSocketTask(with: url),
        ]
        #expect(tasks.allSatisfy { $0.originalRequest?.url?.path == "/" })
        #expect(
            session.calls.value == [
                "data request, handler", "data request", "data URL", "download request", "download request, handler",
                "web socket protocols",
            ]
        )
    }
}
