import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Delegates whose subclass adds a method", .timeLimit(.minutes(1)))
struct DelegateSubclassTests {
    /// Declares its conformance, and one of the methods.
    private class Base: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        // @unchecked is true because nothing changes but what guards itself.
        let calls = Watched<[String]>([])

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            calls.update { $0.append("base completed") }
        }
    }

    /// Overrides that one, and has another that the base class lacks.
    private final class Derived: Base, @unchecked Sendable {
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            calls.update { $0.append("derived received") }
        }

        override func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
        {
            calls.update { $0.append("derived completed") }
        }
    }

    @Test("A subclass's override is called, and a method that its conforming base class lacks isn't")
    func subclass() async throws {
        let delegate = Derived()
        let rig = try Rig(delegate: delegate) { _ in .text("ok") }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.calls.wait { $0.last?.hasSuffix("completed") == true }
        #expect(delegate.calls.value == ["derived completed"])
    }
}
