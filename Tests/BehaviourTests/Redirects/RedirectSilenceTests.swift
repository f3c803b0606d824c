import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A delegate that never says what to do with a redirect", .timeLimit(.minutes(1)))
struct RedirectSilenceTests {
    @Test("A task whose redirect is never answered can be cancelled", arguments: [0, 10, 10_000_000])
    func cancelled(length: Int64) async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { _ in
            .body(.generated(length: length), status: 302).header("Location", "/to")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/from"))
        task.resume()
        let redirect = try await delegate.redirect(number: 1)
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        redirect.answer(redirect.request)
        #expect(rig.server.requestCount == 1)
    }

    @Test("A Swift task whose redirect is never answered can be cancelled")
    func swiftTask() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(RedirectDelegateTests.server(), delegate: delegate)
        defer { rig.stop() }
        let task = Task { try await rig.session.data(from: rig.url("/from")) }
        _ = try await delegate.redirect(number: 1)
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? URLError)?.code == .cancelled }
    }

    @Test("A redirect that is never answered keeps neither its session from being invalidated nor its delegate alive")
    func invalidated() async throws {
        final class Silent: NSObject, URLSessionTaskDelegate {
            let (asked, invalid, released): (Gate, Gate, Gate)
            init(_ asked: Gate, _ invalid: Gate, _ released: Gate) {
                (self.asked, self.invalid, self.released) = (asked, invalid, released)
            }
            deinit { released.open() }

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest,
                completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                asked.open()
            }

            func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
                invalid.open()
            }
        }
        let server = try RedirectDelegateTests.server()
        defer { server.stop() }
        let (asked, invalid, released) = (Gate(), Gate(), Gate())
        let session = URLSession.forTest(delegate: Silent(asked, invalid, released))
        session.dataTask(with: server.url("/from")).resume()
        try await asked.wait()
        session.invalidateAndCancel()
        try await invalid.wait()
        try await released.wait()
        try await server.waitUntilNoConnections()
    }

    @Test("The answer to a redirect is waited for until the resource time-out")
    func resourceTimeout() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        // The idle time-out stands still.
        let rig = try Rig(RedirectDelegateTests.server(), delegate: delegate) {
            $0.timeoutIntervalForRequest = 2
            $0.timeoutIntervalForResource = 4
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/from"))
        #expect(result.error?.code == .timedOut)
        #expect(result.error?.localizedDescription.contains("timeoutIntervalForResource") == true)
    }
}
