import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Errors whose texts programs know from the stock module", .timeLimit(.minutes(1)))
struct StockTextTests {
    @Test("A cancelled task's error says \"cancelled\"", arguments: [true, false])
    func cancelled(isRunning: Bool) async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .never }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        if isRunning {
            task.resume()
            try await rig.server.waitForRequests(1)
        }
        task.cancel()
        let error = try #require(try await delegate.completion(of: task))
        #expect(error.code == .cancelled && error.localizedDescription == "cancelled")
        #expect(error.failingURL == rig.url("/"))
    }

    @Test("The error of a task whose challenge was cancelled says \"cancelled\"")
    func cancelledChallenge() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(server.url("/")).error)
        #expect(error.code == .cancelled && error.localizedDescription == "cancelled")
    }

    @Test("The error of a task that was redirected too often says \"too many HTTP redirects\"")
    func redirects() async throws {
        let rig = try Rig { _ in .redirect(to: "/") }
        defer { rig.stop() }
        let error = try #require(await rig.session.load(rig.url("/")).error)
        #expect(error.code == .httpTooManyRedirects && error.localizedDescription == "too many HTTP redirects")
    }

    @Test(
        "A request without a URL is an unsupported one, with every kind of task, whatever the session would add to it",
        arguments: [false, true]
    )
    func withoutURL(hasClasses: Bool) async throws {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        // Foundation traps on any change of a request without a URL.
        request.allHTTPHeaderFields = ["X-Field": "1", "x-field": "2"]
        request.url = nil
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.protocolClasses = hasClasses ? [MockProtocol.self] : []
            $0.httpAdditionalHeaders = ["X-Other": "3"]
        }
        defer { session.invalidateAndCancel() }
        let tasks = [
            session.dataTask(with: request), session.downloadTask(with: request),
            session.uploadTask(with: request, from: Data("body".utf8)),
            session.uploadTask(withStreamedRequest: request),
            session.webSocketTask(with: request),
        ]
        for task in tasks {
            task.resume()
            let error = try #require(try await delegate.completion(of: task))
            #expect(error.code == .unsupportedURL && error.localizedDescription.contains("URL"))
        }
        #expect(await session.load(request).error?.code == .unsupportedURL)
    }
}
