import CurlNetworking
import Foundation
import CurlNetworkingLocks

/// A test's own host, whose URLs a protocol class loads as the test says.
package final class MockNetwork: Sendable {
    package typealias Script = @Sendable (MockProtocol) -> Void

    package let host = "\(UUID().uuidString.lowercased()).test"
    /// The requests that were begun, in order.
    package let requests = Watched<[URLRequest]>([])
    /// How many times an object was told to stop.
    package let stops = Watched(0)
    fileprivate let script: Script

    private struct Weak: Sendable {
        weak var network: MockNetwork?
    }

    private static let networks = Mutex<[String: Weak]>([:])

    package init(_ script: @escaping Script) {
        self.script = script
        Self.networks.withLock { $0[host] = Weak(network: self) }
    }

    deinit {
        _ = Self.networks.withLock { $0.removeValue(forKey: host) }
    }

    fileprivate static func network(of request: URLRequest?) -> MockNetwork? {
        request?.url?.host.flatMap { host in networks.withLock { $0[host]?.network } }
    }

    package func url(_ path: String = "/", scheme: String = "http") -> URL {
        URL(string: "\(scheme)://\(host)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// A session that asks the protocol class.
    package func session(
        delegate: (any URLSessionDelegate)? = nil,
        classes: [AnyClass] = [MockProtocol.self],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) { configuration in
            configuration.protocolClasses = classes
            configure(configuration)
        }
    }
}

/// Takes requests to hosts of living `MockNetwork`s.
///
/// `@unchecked Sendable`: it has no stored property.
open class MockProtocol: URLProtocol, @unchecked Sendable {
    open override class func canInit(with request: URLRequest) -> Bool { MockNetwork.network(of: request) != nil }

    open override func startLoading() {
        guard let network = MockNetwork.network(of: request) else { return }
        network.requests.update { $0.append(request) }
        network.script(self)
    }

    open override func stopLoading() {
        MockNetwork.network(of: request)?.stops.update { $0 += 1 }
    }

    // MARK: - What scripts do

    package func respond(
        _ status: Int = 200,
        _ fields: [String: String] = [:],
        storage: URLCache.StoragePolicy = .notAllowed
    ) {
        guard let response = response(status, fields) else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: storage)
    }

    package func send(_ text: String) {
        client?.urlProtocol(self, didLoad: Data(text.utf8))
    }

    package func finish() {
        client?.urlProtocolDidFinishLoading(self)
    }

    package func fail(_ error: any Error) {
        client?.urlProtocol(self, didFailWithError: error)
    }

    package func answer(_ text: String, status: Int = 200) {
        respond(status)
        send(text)
        finish()
    }

    package func redirect(to url: URL?, status: Int = 302) {
        guard let response = response(status) else { return }
        var next = request
        next.url = url
        client?.urlProtocol(self, wasRedirectedTo: next, redirectResponse: response)
    }

    package func response(_ status: Int, _ fields: [String: String] = [:]) -> HTTPURLResponse? {
        request.url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        }
    }
}
