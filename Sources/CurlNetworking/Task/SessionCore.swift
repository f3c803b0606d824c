import Curl
import Foundation
import Locks

/// What a session is below its public object: its tasks, its delegate, and its parts on event loops.
///
/// The public object keeps the core, and so does every task; the core keeps the public object only while tasks run or finish. So a
/// session that was dropped goes, with its tasks that were never resumed.
///
/// `@unchecked Sendable`: the variables are behind locks of their own; the rest never changes.
final class SessionCore: @unchecked Sendable {
    // MARK: Never changes

    let configuration: URLSessionConfiguration
    let settings: SessionSettings
    let lanes: SessionLanes
    let deliveryQueue: DeliveryQueue
    /// Whether the session was made with a delegate that hears of tasks.
    let hasTaskDelegate: Bool

    // MARK: Any thread

    /// nil as long as nobody has needed it.
    let madeAuthenticationDesk = Mutex<AuthenticationDesk?>(nil)
    private let shared: Mutex<Shared>

    fileprivate struct Shared {
        var delegates: DelegateSet
        var tasks: [Int: TaskEntry] = [:]
        var activeCount = 0
        var lastTaskIdentifier = 0
        var phase = Phase.valid
        weak var session: URLSession?
        /// While there are active tasks: their messages name it.
        var keptSession: URLSession?
        var description: String?
    }

    fileprivate enum Phase {
        case valid
        /// Takes no new tasks; keeps its public object until the delegate has heard the last message.
        case finishing(URLSession)
        case invalid
    }

    /// A task that was never resumed is kept by the session's public object and its creator; after that the core keeps it to its end.
    fileprivate enum TaskEntry {
        case created(WeakTask)
        case active(TaskRunner)
    }

    fileprivate struct WeakTask {
        weak var task: URLSessionTask?
    }

    /// The core of a session with `configuration`, which doesn't change any more.
    init(
        _ configuration: URLSessionConfiguration,
        settings: SessionSettings,
        delegate: (any URLSessionDelegate)?,
        delegateQueue: OperationQueue
    ) {
        self.configuration = configuration
        self.settings = settings
        deliveryQueue = DeliveryQueue(delegateQueue)
        lanes = SessionLanes(settings, deliveryQueue: deliveryQueue)
        let delegates = DelegateSet(delegate)
        hasTaskDelegate = delegates.task != nil
        shared = Mutex(Shared(delegates: delegates))
    }

    deinit {
        close()
    }

    var delegates: DelegateSet { shared.withLock { $0.delegates } }

    /// The program's own words for the session.
    var description: String? {
        get { shared.withLock { $0.description } }
        set { shared.withLock { $0.description = newValue } }
    }

    // MARK: - The public object (any thread)

    /// There is one while tasks run.
    var session: URLSession? { shared.withLock { $0.keptSession ?? $0.session } }

    /// Called when the public object has been made.
    func represent(by session: URLSession) {
        shared.withLock { $0.session = session }
    }

    /// Makes another public object and keeps it: the program has dropped the session's own, and goes on with a task of it.
    private func keepAnotherSession() -> URLSession {
        let session = URLSession(of: self)
        return shared.withLock { shared in
            let kept = shared.keptSession ?? session
            shared.keptSession = kept
            return kept
        }
    }

    // MARK: - Tasks (any thread)

    /// Numbers a new task. Traps on an invalidated session, as Apple's does.
    func makeTaskIdentifier() -> Int {
        guard let identifier = makeHiddenTaskIdentifier() else {
            preconditionFailure("Task created in a session that has been invalidated")
        }
        return identifier
    }

    /// Numbers a task of the session's own; nil where it takes no new tasks.
    func makeHiddenTaskIdentifier() -> Int? {
        shared.withLock { shared -> Int? in
            guard case .valid = shared.phase else { return nil }
            shared.lastTaskIdentifier += 1
            return shared.lastTaskIdentifier
        }
    }

    func add(_ task: URLSessionTask, identifier: Int) {
        shared.withLock { $0.tasks[identifier] = .created(WeakTask(task: task)) }
    }

    /// The task was resumed or cancelled for the first time: from now on it is kept until `remove`.
    func activate(_ runner: TaskRunner) {
        let session = shared.withLock { shared -> URLSession? in
            shared.tasks[runner.identifier] = .active(runner)
            shared.activeCount += 1
            if shared.keptSession == nil { shared.keptSession = shared.session }
            return shared.keptSession
        }
        (session ?? keepAnotherSession()).createdTasks.remove(runner.identifier)
    }

    /// The task's owner has been told how it ended.
    func remove(identifier: Int) {
        let (entry, kept, finished) = shared.withLock { shared in
            let entry = shared.tasks.removeValue(forKey: identifier)
            if case .active = entry { shared.activeCount -= 1 }
            let kept = shared.activeCount == 0 ? shared.keptSession.take() : nil
            return (entry, kept, shared.endIfFinished())
        }
        if let finished { becomeInvalid(finished) }
        // What these held is let go of without the lock.
        withExtendedLifetime((entry, kept)) {}
    }

    /// Nobody holds the task's public object any more. Takes no lock but this one, since that can happen anywhere.
    func forgetUnlessActive(identifier: Int) {
        let session = shared.withLock { shared -> URLSession? in
            guard case .created = shared.tasks[identifier] else { return nil }
            shared.tasks[identifier] = nil
            return shared.endIfFinished()
        }
        if let session { becomeInvalid(session) }
    }

    /// The tasks that are neither completed nor cancelled, in the order of their creation, as programs are shown them.
    var tasks: [URLSessionTask] { allTasks.filter { $0.runner?.isHidden != true } }

    /// The same with those of the session's own.
    var allTasks: [URLSessionTask] {
        let entries = shared.withLock { $0.tasks.sorted { $0.key < $1.key }.map(\.value) }
        return entries.compactMap { entry in
            switch entry {
            case .created(let weak): weak.task
            case .active(let runner): runner.listedTask
            }
        }
    }

    /// Whether every task's owner has heard all there is to hear.
    var isIdle: Bool { shared.withLock { $0.tasks.isEmpty } }

    // MARK: - Invalidation (any thread)

    var isValid: Bool {
        if case .valid = shared.withLock({ $0.phase }) { true } else { false }
    }

    /// Takes no more tasks; `session`'s delegate hears of it when the last one is done. Tasks that were never resumed are their creators'
    /// alone from now on.
    func finishTasksAndInvalidate(_ session: URLSession) {
        let isEmpty = shared.withLock { shared -> Bool in
            guard case .valid = shared.phase else { return false }
            shared.phase = .finishing(session)
            return shared.endIfFinished() != nil
        }
        if isEmpty { becomeInvalid(session) }
        session.createdTasks.removeAll()
    }

    /// The delegate is there until it has heard of it.
    private func becomeInvalid(_ session: URLSession) {
        close()
        guard let delegate = delegates.session else { return }
        deliveryQueue.addOperation {
            delegate.urlSession(session, didBecomeInvalidWithError: nil)
            self.releaseDelegate()
        }
    }

    private func releaseDelegate() {
        let delegates = shared.withLock { shared in
            defer { shared.delegates = .none }
            return shared.delegates
        }
        withExtendedLifetime(delegates) {}
    }

    /// Closes the session's connections. Called once its last task is done, or when the session is dropped.
    private func close() {
        for lane in lanes.all { lane.close() }
    }

    /// Has later requests use new connections; those that nobody uses are closed. `completion` is called on a loop.
    func renewConnections(completion: @escaping @Sendable () -> Void) {
        lanes.visit({ $0.renewConnections() }, completion: completion)
    }
}

extension SessionCore.Shared {
    /// The session's public object, at the moment when a finishing session has no task left.
    fileprivate mutating func endIfFinished() -> URLSession? {
        guard case .finishing(let session) = phase, tasks.isEmpty else { return nil }
        phase = .invalid
        return session
    }
}
