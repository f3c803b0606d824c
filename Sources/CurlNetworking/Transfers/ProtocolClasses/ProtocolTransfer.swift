import CurlTransport
import Foundation
import CurlNetworkingLocks

/// Receives the reports of a program's own protocol class, except a response and its body. On the loop; never after the transfer was
/// cancelled.
protocol ProtocolReporter: AnyObject {
    /// Converts the request to the form that the classes see; `completion` is called on the loop, at once or later.
    func completeRequest(_ completion: @escaping @Sendable (ProtocolRequest) -> Void)

    /// Changes the task's request: to the one that classes are asked about, or to the class's modified version.
    func changeRequest(to request: URLRequest)

    /// Called when no class takes the request, which reverts to `plain`. The last call.
    func decline(_ plain: URLRequest?)

    /// Whether `stored` may be given to a class that loads `request`: it may be another user's, or another variant.
    func answers(_ stored: StoredResponse, to request: URLRequest) -> Bool

    /// Called when a class takes the request; loading starts when `start` is called.
    func accept(start: @escaping () -> Void)

    /// Called when the class reports a redirect from the request `old`. The last call.
    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse)

    /// Called when the class asks for a credential; `sender` takes the answer.
    func challenge(_ challenge: URLAuthenticationChallenge, answerTo sender: ChallengeSender)

    /// Called when the class was told the answer; nil if it withdrew its challenge.
    func challengeEnded(_ disposition: URLSession.AuthChallengeDisposition?)
}

/// One request loaded by a program's own `URLProtocol`, which may report anything, at any time, on any thread; `ProtocolReports` makes
/// sense of it.
///
/// `@unchecked Sendable`: the properties are grouped by who may touch them.
final class ProtocolTransfer: NSObject, Transfer, @unchecked Sendable {
    // MARK: Never changes

    private let queue = DispatchQueue(label: "CurlNetworking.protocol")
    private let loop: EventLoop
    private let classes: [ProtocolClass]
    private let task: URLSessionTask
    /// The cache in which a response for the class is looked up; nil for requests that no stored response may answer.
    private let cache: (any CacheStore)?

    var source: HopMetrics.Source { .other }

    // MARK: Any thread

    private let isStopped = Mutex(false)

    // MARK: Executor only

    private var object: ProtocolObject?

    // MARK: Loop only

    private var stage = Stage.new
    private weak var delegate: (any TransferDelegate)?
    private weak var reporter: (any ProtocolReporter)?
    private var reports = ProtocolReports()
    private(set) var isPaused = false
    private var isDraining = false
    private var challenges: [ObjectIdentifier: ChallengeSender] = [:]
    private var lastReport: MonotonicTime

    private enum Stage {
        case new
        /// The classes are asked whether they take the request.
        case asking(ProtocolRequest)
        case accepted(Load)
        /// The cache is asked for a stored response, until the deadline.
        case lookingUp(Load, Deadline)
        case loading(Load)
        case over
    }

    /// By the class that takes the request.
    private struct Load {
        let request: ProtocolRequest
        let taker: ProtocolClass
        /// Runs the methods of the class's object.
        let executor: RunLoopExecutor
    }

    private var load: Load? {
        switch stage {
        case .new, .asking, .over: nil
        case .accepted(let load), .lookingUp(let load, _), .loading(let load): load
        }
    }

    init(
        _ classes: [ProtocolClass],
        for task: URLSessionTask,
        cache: (any CacheStore)?,
        loop: EventLoop,
        delegate: any TransferDelegate,
        reporter: any ProtocolReporter
    ) {
        self.classes = classes
        self.task = task
        self.cache = cache
        self.loop = loop
        self.delegate = delegate
        self.reporter = reporter
        lastReport = loop.now
    }

    // MARK: - On the loop

    /// Asks the classes about the request as it would be sent; that becomes the task's current request, unless they decline.
    func start() {
        reporter?.completeRequest { request in
            guard self.delegate != nil else { return }
            self.stage = .asking(request)
            self.reporter?.changeRequest(to: request.complete)
            self.queue.async { self.findClass() }
        }
    }

    /// Loads the request with the class that takes it, passing it a stored response if there is one.
    private func begin() {
        lastReport = loop.now
        guard case .accepted(let load) = stage else { return }
        guard let cache, let request = task.currentRequest, let url = request.url else { return start(load, with: nil) }
        let deadline = Deadline { [unowned self] in lookedUp(nil) }
        stage = .lookingUp(load, deadline)
        loop.schedule(deadline, at: loop.now + CacheStores.lookupTimeout)
        cache.lookUp(StoredResponse.key(of: url), for: request) { stored in
            self.loop.submit { self.lookedUp(stored) }
        }
    }

    /// Called when the cache answers, or takes too long.
    private func lookedUp(_ stored: StoredResponse?) {
        guard case .lookingUp(let load, let deadline) = stage else { return }
        loop.cancel(deadline)
        guard let stored, let request = task.currentRequest, reporter?.answers(stored, to: request) == true else {
            return start(load, with: nil)
        }
        start(load, with: stored)
    }

    private func start(_ load: Load, with stored: StoredResponse?) {
        stage = .loading(load)
        load.executor.run { self.startLoading(load.taker, with: stored?.proposal) }
    }

    /// The idle clock stops while the class waits for an answer.
    var lastActivity: MonotonicTime? { challenges.isEmpty ? lastReport : nil }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        lastReport = loop.now
        drain()
    }

    func cancel() {
        let hasEnded = reports.hasEnded
        delegate = nil
        reports = ProtocolReports()
        if case .lookingUp(_, let deadline) = stage { loop.cancel(deadline) }
        for sender in challenges.values { sender.withdraw() }
        challenges = [:]
        isStopped.withLock { $0 = true }
        let load = load
        stage = .over
        guard let load, !load.executor.abandon() else { return }
        load.executor.run { self.object.take()?.stopLoading(hasEnded: hasEnded) }
    }

    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        while let delegate, !isPaused, let step = reports.next() {
            switch step {
            case .response(let response, let policy): report(response, policy, to: delegate)
            case .data(let data): _ = delegate.transfer(self, received: data)
            case .challenge(let challenge): put(challenge)
            case .redirect(let next, let response): redirect(to: next, by: response)
            case .ended(let error): end(with: error, of: delegate)
            }
        }
    }

    /// nil if the class reported no response: then the task gets a plain one.
    private func report(
        _ response: URLResponse?,
        _ policy: URLCache.StoragePolicy,
        to delegate: any TransferDelegate
    ) {
        do throws(URLError) {
            guard let url = response?.url ?? task.currentRequest?.url else { throw URLError.missingURL }
            let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
            try delegate.transfer(self, received: response ?? plain, storagePolicy: policy)
        } catch {
            end(with: error, of: delegate)
        }
    }

    /// Fields that were added for the classes aren't carried over to another request.
    private func redirect(to next: URLRequest, by response: URLResponse) {
        let (old, request) = (task.currentRequest, load?.request)
        cancel()
        reporter?.redirect(
            to: request?.withoutAdditions(next) ?? next,
            from: old.map { request?.withoutAdditions($0) ?? $0 },
            by: response
        )
    }

    private func end(with error: URLError?, of delegate: any TransferDelegate) {
        cancel()
        delegate.transferFinished(self, TransferEnding(error))
    }

    // MARK: - Challenges

    /// The answer goes to the class's own sender, on the object's thread; only the first answer counts.
    private func put(_ challenge: URLAuthenticationChallenge) {
        let identifier = ObjectIdentifier(challenge)
        guard challenges[identifier] == nil else { return }
        let sender = ChallengeSender { answer in
            self.loop.submit { self.end(challenge, answer) }
        }
        challenges[identifier] = sender
        reporter?.challenge(
            URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender),
            answerTo: sender
        )
    }

    /// Passes the answer to the class before anything else; what the class does with it follows the task's own reaction. nil if the class
    /// has withdrawn its challenge.
    private func end(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer?) {
        guard let sender = challenges.removeValue(forKey: ObjectIdentifier(challenge)) else { return }
        sender.withdraw()
        if let answer { load?.executor.run { answer.pass(to: challenge) } }
        lastReport = loop.now
        if delegate != nil { reporter?.challengeEnded(answer?.disposition) }
    }

    // MARK: - The classes' answer

    private func decline() {
        guard delegate != nil, case .asking(let request) = stage else { return }
        cancel()
        reporter?.decline(request.plain)
    }

    private func accept(_ canonical: URLRequest?, by taker: ProtocolClass) {
        guard delegate != nil, case .asking(let request) = stage else { return }
        stage = .accepted(Load(request: request, taker: taker, executor: RunLoopExecutor(.threads(of: taker.type))))
        if let canonical { reporter?.changeRequest(to: canonical) }
        reporter?.accept { [weak self] in self?.begin() }
    }

    // MARK: - On the queue

    private func findClass() {
        guard !isStopped.withLock({ $0 }) else { return }
        guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
            return loop.submit { self.decline() }
        }
        if case .unusable(let type) = taker {
            let description = "\(type) in protocolClasses isn't a subclass of URLProtocol."
            return report(.failed(URLError(.unsupportedURL, url: task.currentRequest?.url, description)))
        }
        let canonical = task.currentRequest.map { taker.canonicalRequest(for: $0) }
        loop.submit { self.accept(canonical, by: taker) }
    }

    // MARK: - On the executor

    private func startLoading(_ taker: ProtocolClass, with cachedResponse: CachedURLResponse?) {
        guard !isStopped.withLock({ $0 }) else { return }
        object = taker.makeObject(for: task, cachedResponse: cachedResponse, client: self)
        guard let object else { return report(.failed(URLError(.badURL, url: nil, "The task has no request."))) }
        object.startLoading()
    }

    // MARK: - Reports from objects, on any thread

    func report(_ report: ProtocolReports.Report) {
        loop.submit {
            guard self.delegate != nil else { return }
            self.lastReport = self.loop.now
            self.reports.append(report)
            self.drain()
        }
    }

    func withdraw(_ challenge: URLAuthenticationChallenge) {
        loop.submit {
            self.reports.withdraw(challenge)
            self.end(challenge, nil)
        }
    }
}
