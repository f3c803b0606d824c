import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Which delegate is asked about a redirect", .timeLimit(.minutes(1)))
struct RedirectWhoIsAskedTests {
    /// Decides in the async form.
    private final class AsyncDecider: NSObject, URLSessionTaskDelegate {
        let asked = Watched(0)
        private let answer: @Sendable (URLRequest) -> URLRequest?

        init(_ answer: @escaping @Sendable (URLRequest) -> URLRequest?) {
            self.answer = answer
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            await Task.yield()
            asked.update { $0 += 1 }
            return answer(request)
        }
    }

    /// Decides nothing.
    private final class Indifferent: NSObject, URLSessionDataDelegate {}

    @Test("The task's own delegate is asked about a redirect rather than the session's")
    func preferred() async throws {
        let sessions = DecidingDelegate()
        let own = DecidingDelegate(onRedirect: { $0.answer(nil) })
        let rig = try Rig(RedirectDelegateTests.server(), delegate: sessions)
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"), delegate: own)
        #expect(data == Data("moved".utf8))
        #expect(own.redirects.value.count == 1)
        #expect(sessions.redirects.value.isEmpty)
    }

    @Test("If the task's own delegate doesn't implement the method, the session's is asked on its queue")
    func passedOn() async throws {
        let sessions = DecidingDelegate(onRedirect: { $0.answer(nil) })
        let rig = try Rig(RedirectDelegateTests.server(), delegate: sessions)
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"), delegate: Indifferent())
        #expect(data == Data("moved".utf8))
        #expect(sessions.redirects.value[0].queue === rig.session.delegateQueue)
    }

    @Test("A redirect is followed without a question if neither delegate implements the method")
    func nobody() async throws {
        let rig = try Rig(RedirectDelegateTests.server(), delegate: Indifferent())
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"), delegate: Indifferent())
        #expect(data == Data("GET /to ".utf8))
    }

    @Test("A delegate with the async form is asked about a redirect", arguments: [true, false])
    func asyncForm(follows: Bool) async throws {
        let decider = AsyncDecider { follows ? $0 : nil }
        let rig = try Rig(RedirectDelegateTests.server(), delegate: decider)
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.text == (follows ? "GET /to " : "moved"))
        #expect(decider.asked.value == 1)
    }

    @Test(
        "A delegate with the async form is asked about a redirect to another scheme, and can't follow it",
        arguments: [true, false]
    )
    func asyncFormOtherScheme(follows: Bool) async throws {
        let decider = AsyncDecider { follows ? $0 : nil }
        let rig = try Rig(delegate: decider) { _ in .redirect(to: "myapp://callback?code=abc") }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.error?.code == (follows ? .unsupportedURL : nil))
        #expect(result.response?.statusCode == (follows ? nil : 302))
        #expect(decider.asked.value == 1)
    }

    @Test("If a task's own delegate has neither form, the session's is asked in the async form")
    func asyncFormPassedOn() async throws {
        let decider = AsyncDecider { _ in nil }
        let rig = try Rig(RedirectDelegateTests.server(), delegate: decider)
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(from: rig.url("/from"), delegate: Indifferent())
        #expect(data == Data("moved".utf8))
        #expect(decider.asked.value == 1)
    }
}
