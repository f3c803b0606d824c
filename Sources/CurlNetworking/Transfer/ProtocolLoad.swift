import Curl
import Foundation

/// What a `ProtocolLoad` reports besides; on the loop.
protocol ProtocolLoadOwner: LoadOwner {
    /// No class takes the request: it is the network's.
    func protocolLoadDeclined(_ load: ProtocolLoad)
    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest, by response: URLResponse)
}

/// One request loaded by a program's own `URLProtocol`, which may report what it likes, when it likes, from any thread. What comes
/// while the load is paused is kept, what comes behind its end is dropped, and of several responses the first counts.
///
/// `@unchecked Sendable`: the properties are grouped by who may touch them.
final class ProtocolLoad: NSObject, Load, @unchecked Sendable {
    private typealias Event = @Sendable (any ProtocolLoadOwner) -> Void

    // MARK: Never changes

    private let queue = DispatchQueue(label: "CurlNetworking.protocol")
    private let loop: EventLoop
    private let classes: [URLProtocol.Type]
    private let task: URLSessionTask

    // MARK: The queue's

    private var urlProtocol: URLProtocol?
    private var isStopped = false

    // MARK: The loop's

    private var owner: (any ProtocolLoadOwner)?
    private var isPaused = false
    private var held: [Event] = []
    private var isDraining = false
    private var hasResponse = false

    init(
        _ classes: [URLProtocol.Type],
        for task: URLSessionTask,
        loop: EventLoop,
        owner: any ProtocolLoadOwner
    ) {
        self.classes = classes
        self.task = task
        self.loop = loop
        self.owner = owner
    }

    // MARK: - The loop's side

    /// Finds the class that takes the task, and has it load.
    func start() {
        queue.async { self.startLoading() }
    }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        drain()
    }

    func stop() {
        owner = nil
        held = []
        queue.async {
            self.isStopped = true
            self.urlProtocol.take()?.stopLoading()
        }
    }

    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        while let owner, !isPaused, !held.isEmpty { held.removeFirst()(owner) }
    }

    /// True for the first response.
    private func takesResponse() -> Bool {
        defer { hasResponse = true }
        return !hasResponse
    }

    // MARK: - The queue's side

    private func startLoading() {
        guard !isStopped else { return }
        guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
            return report { $0.protocolLoadDeclined(self) }
        }
        if let request = task.currentRequest {
            let canonical = taker.canonicalRequest(for: request)
            task.runner?.shared.withLock { $0.currentRequest = canonical }
        }
        let urlProtocol = taker.init(task: task, cachedResponse: nil, client: self)
        self.urlProtocol = urlProtocol
        urlProtocol.startLoading()
    }

    /// Any thread.
    private func report(_ event: @escaping Event) {
        loop.submit {
            guard self.owner != nil else { return }
            self.held.append(event)
            self.drain()
        }
    }
}

/// Any thread.
extension ProtocolLoad: URLProtocolClient {
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        report { $0.protocolLoad(self, redirectedTo: request, by: redirectResponse) }
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        let (response, data) = (cachedResponse.response, cachedResponse.data)
        report { owner in
            guard self.takesResponse() else { return }
            owner.load(self, received: response)
        }
        report { $0.load(self, received: data) }
    }

    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        report { owner in
            guard self.takesResponse() else { return }
            owner.load(self, received: response)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        report { $0.load(self, received: data) }
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        report { $0.loadFinished(self, nil) }
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        let error = error as? URLError ?? URLError(.unknown, userInfo: [NSUnderlyingErrorKey: error])
        report { $0.loadFinished(self, error) }
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {}
}
