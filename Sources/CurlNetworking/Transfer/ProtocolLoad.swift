import Curl
import Foundation

/// What a `ProtocolLoad` tells its task besides; on the loop, and like the rest not while it is paused.
protocol ProtocolLoadOwner: LoadOwner {
    /// No class takes the request: it is the network's.
    func protocolLoadDeclined(_ load: ProtocolLoad)

    /// A class takes it, and begins when `begin()` is called.
    func protocolLoadBegins(_ load: ProtocolLoad)

    /// `response` is nil where the class reported none.
    func protocolLoad(
        _ load: ProtocolLoad,
        received response: URLResponse?,
        storagePolicy: URLCache.StoragePolicy
    )

    /// The last call.
    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest, by response: URLResponse)

    /// `sender` takes the answer.
    func protocolLoad(
        _ load: ProtocolLoad,
        received challenge: URLAuthenticationChallenge,
        answerTo sender: ChallengeSender
    )

    /// The class has been told the answer; nil where it has taken its challenge back.
    func protocolLoad(_ load: ProtocolLoad, challengeEnded disposition: URLSession.AuthChallengeDisposition?)
}

/// One request loaded by a program's own `URLProtocol`, which may report what it likes, when it likes, from any thread;
/// `ProtocolReports` makes sense of it.
///
/// `@unchecked Sendable`: the properties are grouped by who may touch them.
final class ProtocolLoad: NSObject, Load, @unchecked Sendable {
    // MARK: Never changes

    private let queue = DispatchQueue(label: "CurlNetworking.protocol")
    private let loop: EventLoop
    private let classes: [URLProtocol.Type]
    private let task: URLSessionTask
    /// Where a response for the class is looked up; nil for requests that no stored response answers.
    private let cache: (any CacheStore)?

    // MARK: The queue's

    private var taker: URLProtocol.Type?
    private var urlProtocol: URLProtocol?
    private var isStopped = false

    // MARK: The loop's

    private var owner: (any ProtocolLoadOwner)?
    private var reports = ProtocolReports()
    private var isPaused = false
    private var isDraining = false
    private var challenges: [ObjectIdentifier: ChallengeSender] = [:]
    private var lastReport: MonotonicTime

    init(
        _ classes: [URLProtocol.Type],
        for task: URLSessionTask,
        cache: (any CacheStore)?,
        loop: EventLoop,
        owner: any ProtocolLoadOwner
    ) {
        self.classes = classes
        self.task = task
        self.cache = cache
        self.loop = loop
        self.owner = owner
        lastReport = loop.now
    }

    // MARK: - The loop's side

    /// Finds the class that takes the task.
    func start() {
        queue.async { self.findClass() }
    }

    /// Has that class load, with a stored response if there is one.
    func begin() {
        lastReport = loop.now
        guard let cache, let url = task.currentRequest?.url else { return queue.async { self.startLoading(with: nil) } }
        cache.look(StoredResponse.key(of: url), at: url) { stored in
            self.queue.async { self.startLoading(with: stored?.proposal) }
        }
    }

    /// The idle clock stands still while somebody is to answer the class.
    var lastActivity: MonotonicTime? { challenges.isEmpty ? lastReport : nil }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        lastReport = loop.now
        drain()
    }

    func stop() {
        owner = nil
        reports = ProtocolReports()
        for sender in challenges.values { sender.withdraw() }
        challenges = [:]
        queue.async {
            self.isStopped = true
            self.urlProtocol.take()?.stopLoading()
        }
    }

    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        while let owner, !isPaused, let step = reports.next() {
            switch step {
            case .response(let response, let policy):
                owner.protocolLoad(self, received: response, storagePolicy: policy)
            case .data(let data): owner.load(self, received: data)
            case .challenge(let challenge): put(challenge, to: owner)
            case .redirect(let request, let response): owner.protocolLoad(self, redirectedTo: request, by: response)
            case .ended(let error): owner.loadFinished(self, error)
            }
        }
    }

    // MARK: - Challenges

    /// The answer goes to the class's own sender, on the class's queue; only the first counts.
    private func put(_ challenge: URLAuthenticationChallenge, to owner: any ProtocolLoadOwner) {
        let identifier = ObjectIdentifier(challenge)
        guard challenges[identifier] == nil else { return }
        let sender = ChallengeSender { answer in
            self.loop.submit { self.end(challenge, answer) }
        }
        challenges[identifier] = sender
        owner.protocolLoad(
            self,
            received: URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender),
            answerTo: sender
        )
    }

    /// The class hears the answer before anything else, and what it makes of it comes behind what the task makes of it. nil where
    /// the class has taken its challenge back.
    private func end(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer?) {
        guard let sender = challenges.removeValue(forKey: ObjectIdentifier(challenge)) else { return }
        sender.withdraw()
        if let answer { queue.async { answer.pass(to: challenge) } }
        lastReport = loop.now
        owner?.protocolLoad(self, challengeEnded: answer?.disposition)
    }

    // MARK: - The queue's side

    private func findClass() {
        guard !isStopped else { return }
        guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
            return loop.submit { self.owner?.protocolLoadDeclined(self) }
        }
        if let request = task.currentRequest {
            let canonical = taker.canonicalRequest(for: request)
            task.runner?.shared.withLock { $0.currentRequest = canonical }
        }
        self.taker = taker
        loop.submit { self.owner?.protocolLoadBegins(self) }
    }

    private func startLoading(with cachedResponse: CachedURLResponse?) {
        guard !isStopped, let taker else { return }
        let urlProtocol = taker.init(task: task, cachedResponse: cachedResponse, client: self)
        self.urlProtocol = urlProtocol
        urlProtocol.startLoading()
    }

    /// Any thread.
    private func report(_ report: ProtocolReports.Report) {
        loop.submit {
            guard self.owner != nil else { return }
            self.lastReport = self.loop.now
            self.reports.append(report)
            self.drain()
        }
    }
}

/// Any thread.
extension ProtocolLoad: URLProtocolClient {
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        report(.redirect(request, redirectResponse))
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        report(.cachedResponseIsValid(cachedResponse))
    }

    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        report(.response(response, policy))
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        report(.data(data))
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        report(.finished)
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        report(.failed(URLError(reported: error)))
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        report(.challenge(challenge))
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        loop.submit { self.end(challenge, nil) }
    }
}
