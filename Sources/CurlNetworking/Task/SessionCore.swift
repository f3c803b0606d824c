import Curl
import Foundation
import Locks

/// What a session is below its public face: its tasks, its delegate, and its parts on event loops.
///
/// `@unchecked Sendable`: the variables are behind locks of their own; the rest never changes. Alive as long as its `URLSession`,
/// whose `deinit` calls `close()`.
final class SessionCore: @unchecked Sendable {
    // MARK: Never changes

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
        var lastTaskIdentifier = 0
        var phase = Phase.valid
    }

    fileprivate enum Phase {
        case valid
        /// Takes no new tasks; keeps its public face until the delegate has heard the last message.
        case finishing(URLSession)
        case invalid
    }

    /// A task that was never resumed belongs to its creator alone; after that the session keeps it to its end.
    fileprivate enum TaskEntry {
        case created(WeakTask)
        case active(TaskRunner)
    }

    fileprivate struct WeakTask {
        weak var task: URLSessionTask?
    }

    init(settings: SessionSettings, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue) {
        self.settings = settings
        deliveryQueue = DeliveryQueue(delegateQueue)
        lanes = SessionLanes(settings, deliveryQueue: deliveryQueue)
        let delegates = DelegateSet(delegate)
        hasTaskDelegate = delegates.task != nil
        shared = Mutex(Shared(delegates: delegates))
    }

    var delegates: DelegateSet { shared.withLock { $0.delegates } }

    // MARK: - Tasks (any thread)

    /// Numbers a new task. Traps on an invalidated session, as Apple's does.
    func makeTaskIdentifier() -> Int {
        let identifier = shared.withLock { shared -> Int? in
            guard case .valid = shared.phase else { return nil }
            shared.lastTaskIdentifier += 1
            return shared.lastTaskIdentifier
        }
        guard let identifier else { preconditionFailure("Task created in a session that has been invalidated") }
        return identifier
    }

    func add(_ task: URLSessionTask, identifier: Int) {
        shared.withLock { $0.tasks[identifier] = .created(WeakTask(task: task)) }
    }

    /// The task was resumed or cancelled for the first time: from now on it is kept until `remove`.
    func activate(_ runner: TaskRunner) {
        shared.withLock { $0.tasks[runner.identifier] = .active(runner) }
    }

    /// The task's owner has been told how it ended.
    func remove(identifier: Int) {
        let (entry, session) = shared.withLock { ($0.tasks.removeValue(forKey: identifier), $0.endIfFinished()) }
        if let session { becomeInvalid(session) }
        // What the entry held is let go of without the lock.
        withExtendedLifetime(entry) {}
    }

    /// Nobody holds the public object any more. Takes no lock but this one, since that can happen anywhere.
    func forgetUnlessActive(identifier: Int) {
        let session = shared.withLock { shared -> URLSession? in
            guard case .created = shared.tasks[identifier] else { return nil }
            shared.tasks[identifier] = nil
            return shared.endIfFinished()
        }
        if let session { becomeInvalid(session) }
    }

    var tasks: [URLSessionTask] {
        let entries = shared.withLock { $0.tasks.sorted { $0.key < $1.key }.map(\.value) }
        return entries.compactMap { entry in
            switch entry {
            case .created(let weak): weak.task
            case .active(let runner): runner.task
            }
        }
    }

    // MARK: - Invalidation (any thread)

    /// Takes no more tasks; `session`'s delegate hears of it when the last one is done.
    func finishTasksAndInvalidate(_ session: URLSession) {
        let isEmpty = shared.withLock { shared -> Bool in
            guard case .valid = shared.phase else { return false }
            shared.phase = .finishing(session)
            return shared.endIfFinished() != nil
        }
        if isEmpty { becomeInvalid(session) }
    }

    private func becomeInvalid(_ session: URLSession) {
        let delegate = shared.withLock { shared in
            defer { shared.delegates = .none }
            return shared.delegates.session
        }
        close()
        guard let delegate else { return }
        deliveryQueue.addOperation { delegate.urlSession(session, didBecomeInvalidWithError: nil) }
    }

    /// Closes the session's connections. Called once its last task is done, or when the session is dropped.
    func close() {
        for lane in lanes.all { lane.close() }
    }

    /// Has later requests use new connections; those that nobody uses are closed. `completion` is called on a loop.
    func renewConnections(completion: @escaping @Sendable () -> Void) {
        lanes.visit({ $0.renewConnections() }, completion: completion)
    }
}

extension SessionCore.Shared {
    /// The session's public face, at the moment when a finishing session has no task left.
    fileprivate mutating func endIfFinished() -> URLSession? {
        guard case .finishing(let session) = phase, tasks.isEmpty else { return nil }
        phase = .invalid
        return session
    }
}
