import Curl
import Foundation
import Locks

/// What a session is below its public face: its tasks, its delegate, and its share of an event loop.
///
/// `@unchecked Sendable`: `shared` guards what may be touched from any thread; the rest never changes, or is touched on
/// the loop alone. Alive as long as its `URLSession`, whose `deinit` calls `close()`.
final class SessionCore: @unchecked Sendable {
    // MARK: Never changes

    let settings: SessionSettings
    let loop: EventLoop
    let deliveryQueue: DeliveryQueue
    /// Whether the session was made with a delegate that hears of tasks.
    let hasTaskDelegate: Bool

    // MARK: Any thread

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

    // MARK: Loop only

    var admission: Admission
    private(set) var multi: Multi?
    private var ftp: FTPConnections?
    /// Multis that finish their transfers but get no new ones.
    private(set) var retiredMultis: [Multi] = []
    private var admitted: [Admission.Ticket] = []
    var existingAuthenticationDesk: AuthenticationDesk?
    var existingHandshakeDesk: HandshakeDesk?
    private var deliveries: [DeliveryQueue.Delivery] = []
    private(set) lazy var waitingRoom = WaitingRoom(loop: loop)

    init(settings: SessionSettings, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue) {
        self.settings = settings
        deliveryQueue = DeliveryQueue(delegateQueue)
        let loop = EventLoopGroup.shared.next()
        self.loop = loop
        admission = Admission(total: settings.connectionLimits.total) { ConnectionPlan(settings, for: $0, on: loop) }
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
        loop.submit {
            self.multi?.close()
            self.multi = nil
            self.closeIdleRetiredMultis(all: true)
            self.ftp.take()?.close()
        }
    }

    // MARK: - Connections

    /// Has later requests use new connections; those that nobody uses are closed. Any thread; `completion` is called on
    /// the loop.
    func renewConnections(completion: @escaping @Sendable () -> Void) {
        loop.submit {
            if let multi = self.multi { self.retiredMultis.append(multi) }
            self.multi = nil
            self.closeIdleRetiredMultis()
            self.ftp?.renew()
            completion()
        }
    }

    private func closeIdleRetiredMultis(all: Bool = false) {
        retiredMultis.removeAll { multi in
            guard all || multi.transferCount == 0 else { return false }
            multi.close()
            return true
        }
    }

    /// The multi handle for a new transfer. Loop only.
    func currentMulti() throws(TransferFailure) -> Multi {
        if let multi { return multi }
        let multi = try Multi(loop: loop, limits: settings.connectionLimits)
        self.multi = multi
        return multi
    }

    /// The session's connections to FTP servers. Loop only.
    var ftpConnections: FTPConnections {
        if let ftp { return ftp }
        let connections = FTPConnections(limits: ConnectionLimits(kept: settings.connectionLimits.kept))
        ftp = connections
        return connections
    }

    // MARK: - Deliveries (loop only)

    /// Has the delegate queue run `delivery`, together with all others of this round.
    func deliverAtEndOfRound(_ delivery: DeliveryQueue.Delivery) {
        deliveries.append(delivery)
        guard deliveries.count == 1 else { return }
        loop.atEndOfRound {
            self.deliveryQueue.add(self.deliveries)
            self.deliveries.removeAll(keepingCapacity: true)
        }
    }

    // MARK: - Admission (loop only)

    /// True when the ticket's runner may start at once; else `TaskRunner.admitted()` is called when it may.
    func enter(_ ticket: Admission.Ticket, priority: Float) -> Bool {
        admission.enter(ticket, priority: priority)
    }

    /// Gives up the ticket's place or its waiting, and lets those start who may instead.
    func leave(_ ticket: Admission.Ticket) {
        if !retiredMultis.isEmpty { closeIdleRetiredMultis() }
        start(admission.leave(ticket))
    }

    func connectionProfile(for ticket: Admission.Ticket) -> ConnectionProfile? {
        admission.plan(for: ticket)?.profile
    }

    /// The way to the ticket's origin.
    func route(for ticket: Admission.Ticket) -> ProxyRoute {
        admission.plan(for: ticket)?.route ?? .direct
    }

    func received(bodyOf size: Int, for ticket: Admission.Ticket) {
        admission.received(bodyOf: size, for: ticket)
    }

    func receiveBufferSize(for ticket: Admission.Ticket) -> Int {
        admission.receiveBufferSize(for: ticket)
    }

    /// Starting can fail at once and let the next one start: a queue and not a recursion, however many wait.
    func start(_ tickets: [Admission.Ticket]) {
        guard !tickets.isEmpty else { return }
        let isStarting = !admitted.isEmpty
        admitted.append(contentsOf: tickets)
        guard !isStarting else { return }
        var index = 0
        while index < admitted.count {
            admitted[index].runner.admitted(admitted[index])
            index += 1
        }
        admitted.removeAll()
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
