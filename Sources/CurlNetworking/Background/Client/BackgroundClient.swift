import CurlNetworkingLocks
import CurlTransport
import Foundation

/// A background session's connection to the agent that does its tasks. Starts an agent if none is listening, finds the tasks that an
/// earlier program made, and carries on after an agent was killed.
///
/// This file has the connection; `BackgroundClient+Messages.swift` handles the messages.
///
/// `@unchecked Sendable`: used only on its queue, apart from constants.
final class BackgroundClient: RemoteTasks, @unchecked Sendable {
    typealias Channel = MessageChannel<AgentMessage, ClientMessage>

    // MARK: Never changes

    let queue = DispatchQueue(label: "CurlNetworking.background")
    let folder: StateFolder
    let identifier: String
    private let settings: SessionDescription
    private let launcher: AgentLauncher
    private let claim: IdentifierClaim
    private(set) weak var core: SessionCore?

    // MARK: Queue

    var connection = AgentConnection.detached
    private(set) var life = BackgroundLife.open
    var losses = AgentLosses()
    var tasks = TaskLedger<BackgroundEngine>()
    /// New tasks, with their cookies, that wait for the agent to read earlier messages.
    private var unsubmitted: [(engine: BackgroundEngine, cookies: [StoredCookie])] = []
    private var recordWaiters = TaskWaiters()
    private var tellWaiters = TaskWaiters()
    var checkpoints = PendingAnswers<Void, Data?>()
    /// Requests to renew connections, each with whether the agent also forgets credentials.
    var renewals = PendingAnswers<Bool, Void>()
    /// Names for tasks' own delegates that decide about connections.
    let deciders = DeciderNames()
    private var attachWaiters = AttachWaiters()

    /// Creates the client of a new session.
    init(_ core: SessionCore, identifier: String, delegate: (any URLSessionDelegate)?) {
        self.core = core
        self.identifier = identifier
        folder = StateFolder(of: core.configuration)
        claim = IdentifierClaim(identifier, in: folder)
        settings = SessionDescription(core.configuration, delegate: delegate)
        launcher = AgentLauncher(folder: folder, options: core.configuration.curl.background)
    }

    var files: URL { SessionFolder(url: folder.session(identifier), log: AgentLog.none).files }

    /// Looks for existing tasks.
    func begin() {
        guard let core else { return }
        // If the folder can't be read, the agent says which tasks there are.
        let last = Result { () throws(SystemError) in try folder.lastTaskIdentifier(of: identifier) }
        if case .success(nil) = last { return queue.async { _ = self.attachWaiters.noteAttached() } }
        if case .success(let last?) = last { core.reserveTaskIdentifiers(through: last) }
        core.holdOpen()
        queue.async { self.attach() }
    }

    // MARK: - Intents (any thread)

    func afterAttaching(_ body: @escaping @Sendable () -> Void) {
        queue.async {
            if self.attachWaiters.isAttached { body() } else { self.attachWaiters.add(body) }
        }
    }

    func afterTelling(_ body: @escaping @Sendable () -> Void) {
        afterAttaching {
            let keys = Set(self.tasks.engines.filter { $0.listedTask == nil }.map(\.key))
            if keys.isEmpty { body() } else { self.tellWaiters.add(body, until: keys) }
        }
    }

    func afterRecording(_ body: @escaping @Sendable () -> Void) {
        queue.async {
            let keys = self.tasks.unrecorded
            if keys.isEmpty { body() } else { self.recordWaiters.add(body, until: keys) }
        }
    }

    func renewConnections(forgetting forgets: Bool, _ body: @escaping @Sendable () -> Void) {
        queue.async {
            switch self.connection {
            case .detached, .closed: body()
            case .connecting, .greeting: _ = self.renewals.add(forgets, body)
            case .attached(let channel): channel.send(.renew(self.renewals.add(forgets, body), forgets: forgets))
            }
        }
    }

    func sessionWasInvalidated(cancellingTasks cancels: Bool) {
        guard cancels else { return }
        queue.async {
            self.life.cancel()
            self.cancelTasks()
        }
    }

    func close() {
        queue.async {
            self.life.close()
            self.closeIfConfirmed()
        }
    }

    /// The program has its first intent for a task, which the session keeps from now on.
    func add(_ engine: BackgroundEngine) {
        queue.async { self.enlist(engine) }
    }

    /// The program's intent for a task has changed. A task that has yet to be added will be submitted with this intent.
    func intentChanged(_ engine: BackgroundEngine) {
        queue.async {
            guard self.tasks.engine(engine.key) != nil, case .attached(let channel) = self.connection else { return }
            // Follows the submission; one that has yet to be sent will include this intent.
            self.sendIntent(of: engine, channel)
        }
    }

    /// More is known about which tasks' own delegates decide about connections.
    func decidersChanged() {
        queue.async {
            guard case .attached(let channel) = self.connection else { return }
            for engine in self.tasks.engines where engine.ownDelegate != nil { self.sendIntent(of: engine, channel) }
        }
    }

    func sendIntent(of engine: BackgroundEngine, _ channel: Channel) {
        let intent = engine.intent
        // A task's description may have any length, and the rest of the intent matters more.
        if !channel.send(.intent(engine.key, intent)) { channel.send(.intent(engine.key, intent.withoutDescription)) }
    }

    func isOver(_ engine: BackgroundEngine) -> Bool {
        engine.shared.withLock { [.finished, .completed].contains($0.machine.stage) }
    }

    private func enlist(_ engine: BackgroundEngine) {
        tasks.add(engine, engine.key)
        // It was cancelled before it was resumed: the agent needn't know.
        if engine.intent.cancellation != nil { return engine.fail(.cancelled(engine.originalRequest?.url)) }
        switch connection {
        case .attached(let channel): submit(engine, channel)
        case .detached: attach()
        case .connecting, .greeting: break
        case .closed: engine.fail(AgentLauncher.failure("The session is over."))
        }
    }

    func submit(_ engine: BackgroundEngine, _ channel: Channel) {
        guard let cookies = engine.sentCookies, let url = engine.originalRequest?.url else {
            return submit(engine, with: [])
        }
        cookies.findCookies(for: url) { [self] found in
            queue.async {
                // If another agent has attached since, the task was submitted to that one.
                guard case .attached(let current) = self.connection, current === channel else { return }
                self.submit(engine, with: found ?? [])
            }
        }
    }

    private func submit(_ engine: BackgroundEngine, with cookies: [StoredCookie]) {
        // The connection may have been lost just now.
        guard case .attached = connection else { return }
        unsubmitted.append((engine, cookies))
        submitWaiting()
    }

    /// Submits new tasks, pausing while the agent is slow to read.
    private func submitWaiting() {
        while case .attached(let channel) = connection, let (engine, cookies) = unsubmitted.first {
            if channel.isBackedUp { return channel.whenWritten { [weak self] in self?.submitWaiting() } }
            unsubmitted.removeFirst()
            guard tasks.engine(engine.key) === engine, !isOver(engine) else { continue }
            send(engine, with: cookies, channel)
        }
    }

    private func send(_ engine: BackgroundEngine, with cookies: [StoredCookie], _ channel: Channel) {
        guard let submission = engine.submission(with: cookies) else {
            return engine.fail(URLError(.badURL, url: nil, "The request has no URL."))
        }
        tasks.submit(engine.key)
        if !channel.send(.submit(submission)) {
            engine.fail(
                URLError(
                    .dataLengthExceedsMaximum,
                    url: submission.request.url,
                    "The request is too large for a background agent."
                )
            )
        }
    }

    func checkpoint(_ engine: BackgroundEngine, _ completion: @escaping @Sendable (Data?) -> Void) {
        queue.async {
            guard case .attached(let channel) = self.connection, self.tasks.isRecorded(engine.key) else {
                return completion(engine.work.resumeData)
            }
            channel.send(.checkpoint(engine.key, self.checkpoints.add((), completion)))
        }
    }

    /// The delegate has been told of a task's end. Returns once the message to the agent is written, if one is attached and keeps up: the
    /// program may exit then.
    ///
    /// - Parameter keepsFile: Whether the agent isn't told, but the next session that attaches is.
    func acknowledge(_ engine: BackgroundEngine, keepsFile: Bool) {
        queue.sync {
            let key = engine.key
            let (tellsAgent, areAllTold) = tasks.acknowledge(key, keepsFile: keepsFile, hasAgent: connection.hasAgent)
            callRecordWaiters(after: key)
            if tellsAgent, case .attached(let channel) = connection {
                channel.send(.acknowledge(key))
                channel.flush()
            }
            if areAllTold { tellFinished() }
            for body in tellWaiters.takeReady(after: key) { body() }
        }
    }

    /// The agent has recorded the task.
    func accept(_ key: UUID) {
        tasks.accept(key)?.wasRecorded()
        callRecordWaiters(after: key)
    }

    private func callRecordWaiters(after key: UUID) {
        for body in recordWaiters.takeReady(after: key) { body() }
    }

    /// Called while the last task that the delegate was told about still exists, and with it the session.
    private func tellFinished() {
        guard let core, let session = core.session, let delegate = core.delegates.base else { return }
        core.deliveryQueue.addOperation { delegate.urlSessionDidFinishEvents(forBackgroundURLSession: session) }
    }

    // MARK: - Attaching

    private func attach() {
        guard case .detached = connection, !life.isClosing || tasks.unconfirmed > 0 else { return }
        connection = .connecting(failures: 0)
        connect()
    }

    private func connect() {
        guard case .connecting = connection else { return }
        guard claim.isGranted() else { return retry(after: isInUse(by: "another session of this process")) }
        do throws(SystemError) {
            sayHello(on: try UnixSocket.connect(StateFolder.socketName, in: folder.url))
        } catch {
            switch error.code {
            case ENOENT, ECONNREFUSED, ENOTDIR: launch()
            case EAGAIN, EINTR: retry(after: AgentLauncher.failure("The agent is too busy: \(error).", error))
            default: fail(AgentLauncher.failure("The agent can't be reached: \(error).", error))
            }
        }
    }

    private func launch() {
        WorkThreads.blocking.run { [self, launcher] in
            let result = Result { () throws(URLError) in
                try launcher.folder.prepare()
                try launcher.start()
            }
            queue.async {
                guard case .connecting(let failures) = self.connection else { return }
                switch result {
                case .success where failures == 0:
                    self.connection = .connecting(failures: 1)
                    self.connect()
                case .success: self.retry(after: AgentLauncher.failure("The agent was started, and can't be reached."))
                case .failure(let error): self.fail(error)
                }
            }
        }
    }

    /// Connects again a little later; after too many failures, fails with `error`.
    func retry(after error: URLError) {
        let number = connection.failures + 1
        connect(afterFailure: number, failures: number, error)
    }

    private func connect(afterFailure number: Int, failures: Int, _ error: URLError) {
        guard let delay = AgentLosses.delay(afterFailure: number) else { return fail(error) }
        connection = .connecting(failures: failures)
        queue.asyncAfter(deadline: .after(delay)) { self.connect() }
    }

    private func sayHello(on descriptor: Int32) {
        let channel: Channel
        do throws(SystemError) {
            channel = try Channel(descriptor, on: queue) { [self] messages in
                for message in messages { receive(message) }
            } ended: { [self] reason in
                lost(reason)
            }
        } catch {
            return fail(AgentLauncher.noChannel(to: folder, error))
        }
        let greeting = AgentGreeting(channel)
        connection = .greeting(greeting, failures: connection.failures)
        greeting.watch(on: queue) { [self] in
            channel.close()
            retry(after: AgentLauncher.failure("The agent doesn't answer."))
        }
        if !channel.send(.hello(Hello(identifier: identifier, settings: settings))) {
            channel.close()
            fail(AgentLauncher.failure("The session's configuration is too large for a background agent."))
        }
    }

    /// The connection is lost; perhaps the agent is gone, too.
    private func lost(_ reason: String?) {
        checkpoints.end(with: nil)
        // The next agent is told of all tasks that it doesn't have.
        unsubmitted = []
        let error = AgentLauncher.failure("The connection to the agent was lost\(reason.map { ": \($0)" } ?? "").")
        switch connection {
        case .greeting:
            retry(after: error)
        case .attached:
            connection = .detached
            let number = losses.lost(at: .now())
            guard !tasks.engines.isEmpty || tasks.unconfirmed > 0 else {
                renewals.end(with: ())
                return closeIfConfirmed()
            }
            if number == 1 { return attach() }
            connect(afterFailure: number - 1, failures: 0, error)
        case .detached, .connecting, .closed:
            break
        }
    }

    /// No agent can be started or reached: all tasks end with `error`.
    func fail(_ error: URLError) {
        connection = .detached
        losses.forget()
        renewals.end(with: ())
        for engine in tasks.giveUp(isOver: isOver) { engine.fail(error) }
        attached(failing: error)
        closeIfConfirmed()
    }

    /// It is known which tasks there are, or that no agent will say so. In that case the program is warned: `begin` has found records, or
    /// couldn't look for any, and the lists that it gets will lack their tasks.
    func attached(failing error: URLError? = nil) {
        guard let waiting = attachWaiters.noteAttached() else { return }
        if let error {
            let name = identifier.debugDescription
            let text = "CurlNetworking: the tasks on record of the background session \(name) can't be listed"
            StandardError.write("\(text): \(error.localizedDescription)")
        }
        core?.letGo()
        for body in waiting { body() }
    }

    func closeIfConfirmed() {
        guard life.isClosing, tasks.unconfirmed == 0 else { return }
        connection.openChannel?.close()
        connection = .closed
        claim.giveUp()
        checkpoints.end(with: nil)
        renewals.end(with: ())
    }
}
