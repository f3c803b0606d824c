import Foundation

/// What a `ProtocolLoad` reports to its task. All calls come on the loop, none after the load was stopped.
protocol ProtocolLoadOwner: AnyObject {
    /// No class takes the request: it is the network's.
    func protocolLoadDeclined(_ load: ProtocolLoad)
    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest)
    func protocolLoad(_ load: ProtocolLoad, received response: URLResponse)
    func protocolLoad(_ load: ProtocolLoad, received data: Data)
    func protocolLoadFinished(_ load: ProtocolLoad, _ error: URLError?)
}

/// One request loaded by a program's own `URLProtocol` instead of an exchange.
///
/// `@unchecked Sendable`: `urlProtocol` is touched on `queue` alone, `owner` on the loop alone.
final class ProtocolLoad: NSObject, URLProtocolClient, @unchecked Sendable {
    private let queue = DispatchQueue(label: "CurlNetworking.protocol")
    private let session: SessionCore
    private var urlProtocol: URLProtocol?
    private var owner: (any ProtocolLoadOwner)?

    init(session: SessionCore, owner: any ProtocolLoadOwner) {
        self.session = session
        self.owner = owner
    }

    /// Finds the class that takes `task`, and starts it with `request`. Loop.
    func start(_ classes: [URLProtocol.Type], _ task: URLSessionTask, _ request: URLRequest) {
        queue.async { [self] in
            guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
                return report { $0.protocolLoadDeclined(self) }
            }
            let urlProtocol = taker.init(
                request: taker.canonicalRequest(for: request),
                cachedResponse: nil,
                client: self
            )
            urlProtocol.task = task
            self.urlProtocol = urlProtocol
            urlProtocol.startLoading()
        }
    }

    /// Nothing is reported any more. Loop.
    func stop() {
        owner = nil
        queue.async { [self] in
            urlProtocol?.stopLoading()
            urlProtocol?.client = nil
            urlProtocol = nil
        }
    }

    /// Any thread.
    private func report(_ event: @escaping @Sendable (any ProtocolLoadOwner) -> Void) {
        session.loop.submit { [self] in owner.map(event) }
    }

    // MARK: - URLProtocolClient (any thread)

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        report { $0.protocolLoad(self, redirectedTo: request) }
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        let (response, data) = (cachedResponse.response, cachedResponse.data)
        report { owner in
            owner.protocolLoad(self, received: response)
            owner.protocolLoad(self, received: data)
        }
    }

    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        report { $0.protocolLoad(self, received: response) }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        report { $0.protocolLoad(self, received: data) }
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        report { $0.protocolLoadFinished(self, nil) }
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        let error = error as? URLError ?? URLError(.unknown, userInfo: [NSUnderlyingErrorKey: error])
        report { $0.protocolLoadFinished(self, error) }
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {}
}
