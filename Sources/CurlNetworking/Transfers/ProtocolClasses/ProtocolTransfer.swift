import CurlTransport
import Foundation
import CurlNetworkingLocks

/// Hears what a program's own protocol class has to say beyond a response and its body. On the loop; no more after the transfer was
/// cancelled.
protocol ProtocolReporter: AnyObject {
    /// Puts the request into the form in which the classes see it; `completion` is called on the loop, at once or later.
    func completeRequest(_ completion: @escaping @Sendable (ProtocolRequest) -> Void)

    /// The task's request is this one from now on: it is what classes are asked about, or what the class has made of it.
    func changeRequest(to request: URLRequest)

    /// No class takes the request, which is `plain` again. The last call.
    func decline(_ plain: URLRequest?)

    /// A class takes the request; it begins when `start` is called.
    func accept(start: @escaping () -> Void)

    /// The class has reported a redirect from the request `old`. The last call.
    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse)

    /// The class asks for a credential; `sender` takes the answer.
    func challenge(_ challenge: URLAuthenticationChallenge, answerTo sender: ChallengeSender)

    /// The class has been told the answer; nil where it has taken its challenge back.
    func challengeEnded(_ disposition: URLSession.AuthChallengeDisposition?)
}

/// One request loaded by a program's own `URLProtocol`, which may report what it likes, when it likes, from any thread;
/// `ProtocolReports` makes sense of it.
///
/// `@unchecked Sendable`: the properties are grouped by who may touch them.
final class ProtocolTransfer: NSObject, Transfer, @unchecked Sendable {
    // MARK: Never changes

    private let queue = DispatchQueue(label: "CurlNetworking.protocol")
    private let loop: EventLoop
    private let classes: [ProtocolClass]
    private let task: URLSessionTask
    /// Where a response for the class is looked up; nil for requests that no stored response answers.
    private let cache: (any CacheStore)?

    let source = HopMetrics.Source.other

    // MARK: Any thread's

    private let isStopped = Mutex(false)

    // MARK: The executor's

    private var object: ProtocolObject?

    // MARK: The loop's

    /// The class that takes the task, and where its object's methods run.
    private var taker: (class: ProtocolClass, executor: RunLoopExecutor)?
    /// What the classes were asked about; nil before they are.
    private var request: ProtocolRequest?
    private weak var delegate: (any TransferDelegate)?
    private weak var reporter: (any ProtocolReporter)?
    private var reports = ProtocolReports()
    private var isPaused = false
    private var isDraining = false
    private var hasBegun = false
    private var challenges: [ObjectIdentifier: ChallengeSender] = [:]
    private var lastReport: MonotonicTime

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

    // MARK: - The loop's side

    /// Has the classes asked about the request as it would go out: that is the task's current request, unless they decline.
    func start() {
        reporter?.completeRequest { request in
            guard self.delegate != nil else { return }
            self.request = request
            self.reporter?.changeRequest(to: request.complete)
            self.queue.async { self.findClass() }
        }
    }

    /// Has the class that takes the request load it, with a stored response if there is one.
    private func begin() {
        lastReport = loop.now
        guard let taker, !hasBegun else { return }
        hasBegun = true
        guard let cache, let url = task.currentRequest?.url else {
            return taker.executor.run { self.startLoading(taker.class, with: nil) }
        }
        cache.look(StoredResponse.key(of: url), at: url) { stored in
            taker.executor.run { self.startLoading(taker.class, with: stored?.proposal) }
        }
    }

    /// The idle clock stands still while somebody is to answer the class.
    var lastActivity: MonotonicTime? { challenges.isEmpty ? lastReport : nil }

    func setPaused(_ isPaused: Bool) -> Bool {
        self.isPaused = isPaused
        lastReport = loop.now
        drain()
        return true
    }

    func cancel() {
        let hasEnded = reports.hasEnded
        delegate = nil
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

    /// nil where the class has reported no response: then it gets a plain one.
    private func report(
        _ response: URLResponse?,
        _ policy: URLCache.StoragePolicy,
        to delegate: any TransferDelegate
    ) {
        do throws(URLError) {
            guard let url = response?.url ?? task.currentRequest?.url else {
                throw URLError(.unsupportedURL, nil, "The request has no URL.")
            }
            let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
            try delegate.transfer(self, received: response ?? plain, storagePolicy: policy)
        } catch {
            end(with: error, of: delegate)
        }
    }

    /// What the classes saw besides the task's own request isn't taken elsewhere.
    private func redirect(to next: URLRequest, by response: URLResponse) {
        let old = task.currentRequest
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

    /// The answer goes to the class's own sender, on the object's thread; only the first counts.
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

    /// The class hears the answer before anything else, and what it makes of it comes behind what the task makes of it. nil where
    /// the class has taken its challenge back.
    private func end(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer?) {
        guard let sender = challenges.removeValue(forKey: ObjectIdentifier(challenge)) else { return }
        sender.withdraw()
        if let answer { taker?.executor.run { answer.pass(to: challenge) } }
        lastReport = loop.now
        if delegate != nil { reporter?.challengeEnded(answer?.disposition) }
    }

    // MARK: - The classes' answer

    private func decline() {
        guard delegate != nil else { return }
        cancel()
        reporter?.decline(request?.plain)
    }

    private func accept(_ canonical: URLRequest?, by taker: ProtocolClass) {
        guard delegate != nil else { return }
        self.taker = (taker, RunLoopExecutor(.threads(of: taker.type)))
        if let canonical { reporter?.changeRequest(to: canonical) }
        reporter?.accept { [weak self] in self?.begin() }
    }

    // MARK: - The queue's side

    private func findClass() {
        guard !isStopped.withLock({ $0 }) else { return }
        guard let taker = classes.first(where: { $0.canInit(with: task) }) else {
            return loop.submit { self.decline() }
        }
        if case .unusable(let type) = taker {
            let description = "\(type) in protocolClasses is no subclass of URLProtocol."
            return report(.failed(URLError(.unsupportedURL, task.currentRequest?.url, description)))
        }
        let canonical = task.currentRequest.map { taker.canonicalRequest(for: $0) }
        loop.submit { self.accept(canonical, by: taker) }
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
            guard self.delegate != nil else { return }
            self.lastReport = self.loop.now
            self.reports.append(report)
            self.drain()
        }
    }

    func withdraw(_ challenge: URLAuthenticationChallenge) {
        loop.submit { self.end(challenge, nil) }
    }
}
