import Curl
import Foundation
import Locks

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
    private let classes: [ProtocolClass]
    private let task: URLSessionTask
    /// Where a response for the class is looked up; nil for requests that no stored response answers.
    private let cache: (any CacheStore)?

    // MARK: Any thread's

    private let isStopped = Mutex(false)

    // MARK: The executor's

    private var object: ProtocolObject?

    // MARK: The loop's

    /// The class that takes the task, and where its object's methods run.
    private var taker: (class: ProtocolClass, executor: RunLoopExecutor)?
    /// What the classes were asked about; nil before they are.
    private(set) var request: ProtocolRequest?
    private var owner: (any ProtocolLoadOwner)?
    private var reports = ProtocolReports()
    private var isPaused = false
    private var isDraining = false
    private var challenges: [ObjectIdentifier: ChallengeSender] = [:]
    private var lastReport: MonotonicTime

    init(
        _ classes: [ProtocolClass],
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

    /// Finds the class that takes the task, whose current request is `request` by now.
    func start(with request: ProtocolRequest) {
        self.request = request
        queue.async { self.findClass() }
    }

    /// Has that class load, with a stored response if there is one.
    func begin() {
        lastReport = loop.now
        guard let taker else { return }
        guard let cache, let url = task.currentRequest?.url else {
            return taker.executor.run { self.startLoading(taker.class, with: nil) }
        }
        cache.look(StoredResponse.key(of: url), at: url) { stored in
            taker.executor.run { self.startLoading(taker.class, with: stored?.proposal) }
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
        let hasEnded = reports.hasEnded
        owner = nil
        reports = ProtocolReports()
        for sender in challenges.values { sender.withdraw() }
        challenges = [:]
        isStopped.withLock { $0 = true }
        taker.take()?.executor.run { self.object.take()?.stopLoading(hasEnded: hasEnded) }
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

    /// The answer goes to the class's own sender, on the object's thread; only the first counts.
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
        if let answer { taker?.executor.run { answer.pass(to: challenge) } }
        lastReport = loop.now
        owner?.protocolLoad(self, challengeEnded: answer?.disposition)
    }

    // MARK: - The queue's side

    private func findClass() {
        guard !isStopped.withLock({ $0 }) else { return }
        guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
            return loop.submit { self.owner?.protocolLoadDeclined(self) }
        }
        if case .unusable(let type) = taker {
            let description = "\(type) in protocolClasses is no subclass of URLProtocol."
            return report(.failed(URLError(.unsupportedURL, task.currentRequest?.url, description)))
        }
        if let request = task.currentRequest {
            let canonical = taker.canonicalRequest(for: request)
            task.runner?.shared.withLock { $0.currentRequest = canonical }
        }
        loop.submit {
            guard let owner = self.owner else { return }
            self.taker = (taker, RunLoopExecutor(.threads(of: taker.type)))
            owner.protocolLoadBegins(self)
        }
    }

    // MARK: - The executor's side

    private func startLoading(_ taker: ProtocolClass, with cachedResponse: CachedURLResponse?) {
        guard !isStopped.withLock({ $0 }) else { return }
        object = taker.makeObject(for: task, cachedResponse: cachedResponse, client: self)
        guard let object else { return report(.failed(URLError(.badURL, nil, "The task has no request."))) }
        object.startLoading()
    }

    // MARK: - What objects report, from any thread

    func report(_ report: ProtocolReports.Report) {
        loop.submit {
            guard self.owner != nil else { return }
            self.lastReport = self.loop.now
            self.reports.append(report)
            self.drain()
        }
    }

    func withdraw(_ challenge: URLAuthenticationChallenge) {
        loop.submit { self.end(challenge, nil) }
    }
}
