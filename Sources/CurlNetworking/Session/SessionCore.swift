import CurlTransport
import Foundation
import CurlNetworkingLocks
import struct Synchronization.Atomic

/// A task that its session retains from its first `resume()` to its end. Any thread.
protocol SessionMember: AnyObject, Sendable {
    var identifier: Int { get }
    /// The public object; nil for a task that is completed or cancelled.
    var listedTask: URLSessionTask? { get }
    /// The public object, for as long as an exit of this process would make the next one tell its delegate of the task; the same as
    /// `listedTask` if no other process runs the task.
    var untoldTask: URLSessionTask? { get }
    /// Whether the task is internal, and doesn't keep the session alive.
    var isHidden: Bool { get }
}

extension SessionMember {
    var untoldTask: URLSessionTask? { listedTask }
}

/// A session's state: its tasks, its delegate, and its connection pools.
///
/// The public object and every task retain the core. The core retains the public object while tasks are active, and tasks that were never
/// resumed until the public object is released. So only active tasks keep a released session alive.
///
/// `@unchecked Sendable`: locks guard the variables, apart from an atomic one; the rest never changes.
final class SessionCore: @unchecked Sendable {
    // MARK: Never changes

    /// Holds the storages, the values of additional header fields, and whatever else the program has set.
    private let keptConfiguration: ReleasedOffLoop<URLSessionConfiguration>
    let settings: SessionSettings
    let pools: ConnectionPools
    let deliveryQueue: DeliveryQueue
    /// Whether the session was created with a delegate, and with one for tasks.
    let hasDelegate: Bool
    let hasTaskDelegate: Bool

    // MARK: Any thread

    /// nil until first used.
    let madeAuthenticationCoordinator = Mutex<AuthenticationCoordinator?>(nil)
    private let shared: Mutex<Shared>
    private let lastTaskIdentifier = Atomic(0)

    /// The client of the other process that runs the tasks, if any.
    private let remoteTasks = Mutex<(any RemoteTasks)?>(nil)

    fileprivate struct Shared {
        var delegates: DelegateSet
        var tasks: [Int: TaskEntry] = [:]
        /// The active tasks of the program, and those internal to the session.
        var activeCount = 0
        var hiddenCount = 0
        var phase = Phase.valid
        weak var session: URLSession?
        /// Retained while the program has active tasks, whose messages refer to it.
        var keptSession: URLSession?
        var description: String?
    }

    fileprivate enum Phase {
        case valid
        /// Takes no new tasks. Retains the public object until the delegate has been sent the last message.
        case finishing(URLSession)
        case invalid
    }

    fileprivate enum TaskEntry {
        /// Never resumed, and retained until the session is released or invalidated.
        case created(URLSessionTask)
        /// Never resumed, and retained only by the program.
        case released(WeakTask)
        /// Resumed or cancelled, and retained until it ends.
        case active(any SessionMember)
        /// Stands in for tasks that the session may still learn of.
        case reservation
    }

    fileprivate struct WeakTask {
        weak var task: URLSessionTask?
    }

    /// Creates the core of a session with `configuration`, which no longer changes.
    init(
        _ configuration: URLSessionConfiguration,
        settings: SessionSettings,
        delegate: (any URLSessionDelegate)?,
        delegateQueue: OperationQueue
    ) {
        keptConfiguration = ReleasedOffLoop(configuration)
        self.settings = settings
        deliveryQueue = DeliveryQueue(delegateQueue)
        pools = ConnectionPools(settings, deliveryQueue: deliveryQueue)
        let delegates = DelegateSet(delegate)
        hasDelegate = delegates.base != nil
        hasTaskDelegate = delegates.task != nil
        shared = Mutex(Shared(delegates: delegates))
    }

    deinit {
        close()
    }

    var configuration: URLSessionConfiguration { keptConfiguration.value }

    var delegates: DelegateSet { shared.withLock { $0.delegates } }

    /// Whether the session's delegate may want its tasks' metrics, that is, isn't known to lack the method.
    var measuresTasks: Bool {
        guard hasTaskDelegate, let delegate = delegates.task else { return false }
        return !MissingMethods.contains(.metrics, of: delegate)
    }

    /// Whether the agent runs the session's transfers.
    var isBackground: Bool { configuration.identifier != nil }

    var description: String? {
        get { shared.withLock { $0.description } }
        set { shared.withLock { $0.description = newValue } }
    }

    // MARK: - The public object (any thread)

    /// Not nil while tasks run.
    var session: URLSession? { shared.withLock { $0.keptSession ?? $0.session } }

    /// The sender of messages, and the recipients of those that no task's own delegate receives.
    var sender: (session: URLSession, delegates: DelegateSet)? {
        if let sender = shared.withLock({ $0.sender }) { return sender }
        // The session was released, but some of its internal tasks, which were cancelled then, have yet to end and send their messages.
        guard shared.withLock({ $0.hiddenCount > 0 }) else { return nil }
        keepAnotherSession()
        return shared.withLock { $0.sender }
    }

    /// Called when the public object has been created.
    func represent(by session: URLSession) {
        shared.withLock { $0.session = session }
    }

    /// Called in the public object's `deinit`. The last one releases tasks that were never resumed, and cancels internal ones.
    func sessionWasDropped() {
        typealias Tasks = (created: [URLSessionTask], hidden: [URLSessionTask])
        let (another, tasks, isOver) = shared.withLock { shared -> (URLSession?, Tasks, Bool) in
            // Returned from the lock, since this may turn out to be the last reference to it.
            let another = shared.keptSession ?? shared.session
            let tasks = another == nil ? (shared.releaseCreatedTasks(), shared.hiddenTasks) : ([], [])
            return (another, tasks, shared.endIfAbandoned(by: another))
        }
        for task in tasks.hidden { task.cancel() }
        if isOver { releaseEverything() }
        withExtendedLifetime((another, tasks)) {}
    }

    /// Called when the program has released the session and no task will run; only completed tasks still refer to it. May run on the loop,
    /// which the delegate's `deinit` must not block.
    private func releaseEverything() {
        close()
        guard delegates.base != nil else { return }
        WorkThreads.blocking.run { self.releaseDelegate() }
    }

    /// Creates and retains another public object: the program has released the first one, and a task needs one.
    private func keepAnotherSession() {
        let session = URLSession(of: self)
        shared.withLock { shared in
            guard shared.keptSession == nil else { return }
            shared.keptSession = session
            shared.session = session
        }
    }

    // MARK: - Another process (any thread)

    /// The client of a background session; nil in other sessions.
    var remote: (any RemoteTasks)? {
        get { remoteTasks.withLock { $0 } }
        set { remoteTasks.withLock { $0 = newValue } }
    }

    /// Makes later tasks get higher numbers. Ignores numbers too high to have been assigned one by one, from which counting on would
    /// overflow.
    func reserveTaskIdentifiers(through last: Int) {
        guard last <= 1 << 31 else { return }
        lastTaskIdentifier.max(last, ordering: .relaxed)
    }

    func isFree(identifier: Int) -> Bool {
        shared.withLock { $0.tasks[identifier] == nil }
    }

    /// Keeps the session from ending until `letGo`, since there may be tasks that it doesn't know yet.
    func holdOpen() {
        shared.withLock { $0.tasks[Self.reservation] = .reservation }
    }

    func letGo() {
        if !isFree(identifier: Self.reservation) { remove(identifier: Self.reservation) }
    }

    /// The number that reserves a place in the list of tasks; no task has it.
    private static let reservation = 0

    /// Calls `body` once the list of tasks is complete.
    func afterAttaching(_ body: @escaping @Sendable () -> Void) {
        if let remote { remote.afterAttaching(body) } else { body() }
    }

    /// Calls `body` once the other process, if there is one, has recorded all tasks resumed so far.
    func afterRecording(_ body: @escaping @Sendable () -> Void) {
        if let remote { remote.afterRecording(body) } else { body() }
    }

    // MARK: - Tasks (any thread)

    /// The number of a new task, which isn't the session's until it is added.
    func makeTaskIdentifier() -> Int {
        lastTaskIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Lists and retains a new task, which the session then outlives. Traps on an invalidated session, as Apple's does.
    func add(_ task: URLSessionTask, identifier: Int) {
        guard addIfValid(task, identifier: identifier) else {
            preconditionFailure("Task created in a session that has been invalidated")
        }
    }

    /// Does the same for an internal task; false if the session takes no new tasks.
    func addIfValid(_ task: URLSessionTask, identifier: Int) -> Bool {
        shared.withLock { shared in
            guard shared.isValid else { return false }
            shared.tasks[identifier] = .created(task)
            return true
        }
    }

    /// Called when the task is resumed or cancelled for the first time; retains it until `remove`.
    func activate(_ member: any SessionMember) {
        let (entry, hasSession) = shared.withLock { shared -> (TaskEntry?, Bool) in
            let entry = shared.tasks.updateValue(.active(member), forKey: member.identifier)
            guard !member.isHidden else {
                shared.hiddenCount += 1
                return (entry, true)
            }
            shared.activeCount += 1
            if shared.keptSession == nil { shared.keptSession = shared.session }
            return (entry, shared.keptSession != nil)
        }
        if !hasSession { keepAnotherSession() }
        // Released outside the lock.
        withExtendedLifetime(entry) {}
    }

    /// Called when the task has completed, and its delegate or handler has been called.
    func remove(identifier: Int) {
        var (entry, kept, session, finished, isOver) = shared.withLock { shared in
            let session = shared.session
            let entry = shared.tasks.removeValue(forKey: identifier)
            if case .active(let member) = entry {
                if member.isHidden { shared.hiddenCount -= 1 } else { shared.activeCount -= 1 }
            }
            let kept = shared.activeCount == 0 ? shared.keptSession.take() : nil
            return (entry, kept, session, shared.endIfFinished(), shared.endIfAbandoned(by: session))
        }
        if let finished { becomeInvalid(finished) }
        if isOver { releaseEverything() }
        // These are released outside the lock. The last three are the same public object: if its class is the program's, so is its
        // `deinit`, which the loop can't wait for.
        _ = entry.take()
        var last = kept.take() ?? finished.take() ?? session.take()
        (finished, session) = (nil, nil)
        if last.map({ type(of: $0) != URLSession.self }) == true { WorkThreads.blocking.release(&last) }
    }

    /// Called in the `deinit` of the task's public object, on any thread; takes no lock but this one.
    func forgetUnlessActive(identifier: Int) {
        let (session, finished, isOver) = shared.withLock { shared -> (URLSession?, URLSession?, Bool) in
            guard case .released = shared.tasks[identifier] else { return (nil, nil, false) }
            shared.tasks[identifier] = nil
            let session = shared.session
            return (session, shared.endIfFinished(), shared.endIfAbandoned(by: session))
        }
        if let finished { becomeInvalid(finished) }
        if isOver { releaseEverything() }
        withExtendedLifetime(session) {}
    }

    /// The tasks that are neither completed nor cancelled, in the order of their creation, without internal ones.
    var tasks: [URLSessionTask] {
        Self.list(shared.withLock { $0.tasks }).filter { $0.engine?.isHidden != true }
    }

    /// Passes the same tasks to `body` on the delegate queue. In a background session, first waits until the delegate has been told of the
    /// ends of all others. A task whose end follows is listed until the delegate has been told of that: if none is listed, none is left.
    func listTasks(_ body: @escaping @Sendable ([URLSessionTask]) -> Void) {
        guard let remote else { return deliveryQueue.addOperation { body(self.tasks) } }
        remote.afterTelling {
            self.deliveryQueue.addOperation { body(Self.list(self.shared.withLock { $0.tasks }, \.untoldTask)) }
        }
    }

    /// Upload tasks are not among the data tasks.
    static func byKind(
        _ tasks: [URLSessionTask]
    ) -> ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        let uploads = tasks.compactMap { $0 as? URLSessionUploadTask }
        let data = tasks.filter { !($0 is URLSessionUploadTask) }.compactMap { $0 as? URLSessionDataTask }
        return (data, uploads, tasks.compactMap { $0 as? URLSessionDownloadTask })
    }

    private static func list(
        _ entries: [Int: TaskEntry],
        _ task: (any SessionMember) -> URLSessionTask? = { $0.listedTask }
    ) -> [URLSessionTask] {
        entries.sorted { $0.key < $1.key }.compactMap { _, entry in
            switch entry {
            case .created(let task): task
            case .released(let weak): weak.task
            case .active(let member): task(member)
            case .reservation: nil
            }
        }
    }

    /// Whether the session takes new tasks.
    var isValid: Bool { shared.withLock { $0.isValid } }

    /// Whether all tasks have completed, and their delegates or handlers have been called.
    var isIdle: Bool { shared.withLock { $0.tasks.isEmpty } }

    // MARK: - Invalidation (any thread)

    /// Stops taking tasks. Cancels internal tasks and, if `cancels`, all others. `session`'s delegate is told when the last task is done.
    ///
    /// Tasks that were never resumed and aren't cancelled are then retained only by the program.
    func invalidate(_ session: URLSession, cancellingTasks cancels: Bool) {
        let (tasks, finished) = shared.withLock { shared in
            // Also retains the tasks released here until the lock is free again.
            let tasks = shared.tasks
            if shared.isValid {
                shared.phase = .finishing(session)
                _ = shared.releaseCreatedTasks()
            }
            return (tasks, shared.endIfFinished())
        }
        remote?.sessionWasInvalidated(cancellingTasks: cancels)
        if let finished { becomeInvalid(finished) }
        for task in Self.list(tasks) where cancels || task.engine?.isHidden == true { task.cancel() }
    }

    /// Retains the delegate until it has been told.
    private func becomeInvalid(_ session: URLSession) {
        close()
        guard let delegate = delegates.base else { return }
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

    /// Closes the session's connections. Called once its last task is done, or when the session is released.
    private func close() {
        remote?.close()
        for pool in pools.all { pool.close() }
    }

    /// Makes later requests use new connections, and closes idle ones. `completion` is called on a loop.
    func renewConnections(completion: @escaping @Sendable () -> Void) {
        pools.visit({ $0.renewConnections() }, completion: completion)
    }

    /// Makes later requests use new connections. Calls `completion` on the delegate queue, once everything stored so far is in the storages
    /// and, in a background session, the agent has recorded all tasks resumed so far.
    ///
    /// - Parameter forgets: Whether a background session's agent also forgets what `URLSession.reset` removes.
    func flush(forgetting forgets: Bool, _ completion: @escaping @Sendable () -> Void) {
        renewConnections {
            self.settings.afterStorageWrites {
                self.afterRecording {
                    self.renewRemoteConnections(forgetting: forgets) { self.deliveryQueue.addOperation(completion) }
                }
            }
        }
    }

    /// Does the same in the other process, if there is one; if `forgets`, also what `forgetCredentials` does.
    func renewRemoteConnections(forgetting forgets: Bool, completion: @escaping @Sendable () -> Void) {
        if let remote { remote.renewConnections(forgetting: forgets, completion) } else { completion() }
    }
}

extension SessionCore.Shared {
    fileprivate var isValid: Bool { if case .valid = phase { true } else { false } }

    fileprivate var sender: (session: URLSession, delegates: DelegateSet)? {
        (keptSession ?? session).map { ($0, delegates) }
    }

    /// The session's internal tasks that haven't been cancelled.
    fileprivate var hiddenTasks: [URLSessionTask] {
        guard hiddenCount > 0 else { return [] }
        return tasks.values.compactMap { entry in
            if case .active(let member) = entry, member.isHidden { member.listedTask } else { nil }
        }
    }

    /// Stops retaining tasks that were never resumed. Returns them, to be released outside the lock.
    fileprivate mutating func releaseCreatedTasks() -> [URLSessionTask] {
        var released: [URLSessionTask] = []
        for (identifier, entry) in tasks {
            guard case .created(let task) = entry else { continue }
            released.append(task)
            tasks[identifier] = .released(SessionCore.WeakTask(task: task))
        }
        return released
    }

    /// Ends a finishing session without tasks. Returns its public object if it ended now.
    fileprivate mutating func endIfFinished() -> URLSession? {
        guard case .finishing(let session) = phase, tasks.isEmpty else { return nil }
        phase = .invalid
        return session
    }

    /// Ends a session that was released without being invalidated, and has no tasks. Returns whether it ended now.
    ///
    /// - Parameter session: The public object, which the caller retains beyond the lock; released here, it would take the lock again.
    fileprivate mutating func endIfAbandoned(by session: URLSession?) -> Bool {
        guard isValid, tasks.isEmpty, keptSession == nil, session == nil else { return false }
        phase = .invalid
        return true
    }
}
