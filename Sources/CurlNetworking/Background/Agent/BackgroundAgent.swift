import CCurlNetworkingLinux
import CurlTransport
import Foundation
import Glibc

/// Does the transfers of all background sessions whose state is in one folder, whether or not their programs are running. A process has
/// one agent; a lock ensures that a folder has only one, too. Everything happens on its queue.
///
/// `@unchecked Sendable`: used only on its queue.
final class BackgroundAgent: @unchecked Sendable {
    private typealias Channel = AgentSession.Channel

    private let folder: StateFolder
    private let queue = DispatchQueue(label: "CurlNetworking.agent")
    private let log: AgentLog
    private let idleTime: Duration
    /// Holds the lock for as long as the process lives.
    private let lock: Int32
    private var listener: (any DispatchSourceRead)?
    /// Whether systemd made the socket, and keeps it when the agent exits.
    private var isSocketGiven = false
    private var watch: (any DispatchSourceRead)?
    private var termination: (any DispatchSourceSignal)?
    /// By identifier.
    private var sessions: [ExactText: AgentSession] = [:]
    private var channels: [ObjectIdentifier: (channel: Channel, session: AgentSession?)] = [:]
    /// A check with an earlier number is void, since the state has changed.
    private var idleChecks = 0
    /// Whether unreadable sessions are about to be tried again.
    private var isLoadComing = false
    private var readBackoff = RetryBackoff()
    private static let maximumReadAttempts = 8
    /// How long the agent waits, whatever its idle time, for the program that started it to connect.
    private var arrivalTime = Duration.seconds(10)

    enum Failure: Error {
        /// Another agent has the folder.
        case isTaken
        case system(String)
    }

    /// Creates an agent for `folder`, and takes its lock.
    init(in folder: StateFolder, idleTime: Duration) throws(Failure) {
        self.folder = folder
        self.idleTime = idleTime
        do throws(URLError) {
            try folder.prepare()
        } catch {
            throw .system(error.localizedDescription)
        }
        let taken: Int32?
        do throws(SystemError) {
            taken = try folder.takeLock()
        } catch {
            throw .system("the lock: \(error)")
        }
        guard let taken else { throw .isTaken }
        lock = taken
        // For people, and for tests.
        let text = Array("\(getpid())\n".utf8)
        ftruncate(lock, 0)
        _ = write(lock, text, text.count)
        log = AgentLog(in: folder)
    }

    /// Listens, and continues the tasks that an earlier agent left. `socket`, passed by systemd, is already listening.
    func start(on socket: Int32? = nil) throws(Failure) {
        log.write("started, version \(TaskRecord.currentVersion)")
        let result: Result<Void, Failure> = queue.sync {
            do throws(SystemError) {
                try listen(on: socket)
            } catch {
                return .failure(.system("the socket: \(error)"))
            }
            watchFolder()
            watchForTermination()
            loadAll()
            return .success(())
        }
        try result.get()
    }

    /// Continues the tasks of all sessions. Those that can't be read at the moment are retried for about two minutes, and when a program
    /// asks for them.
    private func loadAll() {
        isLoadComing = false
        if !load(), readBackoff.failures < Self.maximumReadAttempts {
            isLoadComing = true
            queue.asyncAfter(deadline: .after(readBackoff.delay(jitter: .random(in: 0...1)))) { [self] in loadAll() }
        }
        exitIfIdle()
    }

    /// Continues the tasks of the sessions not yet read. All records are read before the first transfer takes descriptors. Returns false if
    /// some can't be read at the moment.
    private func load() -> Bool {
        let loaded = Set(sessions.values.map(\.folder.url.lastPathComponent))
        var found: [(session: AgentSession, tasks: [StoredTask])] = []
        var isComplete = true
        do throws(SystemError) {
            for name in try SessionFolder.names(in: folder.sessions.path).sorted() where !loaded.contains(name) {
                do throws(SystemError) {
                    if let one = try findSession(name) { found.append(one) }
                } catch {
                    log.write("\(name) can't be read: \(error)")
                    isComplete = false
                }
            }
        } catch {
            log.write("the sessions can't be read: \(error)")
            isComplete = false
        }
        for (session, tasks) in found {
            session.load(tasks)
            forgetIfOver(session)
        }
        return isComplete
    }

    /// A session that an earlier agent left; nil if there is none in the folder `name`.
    private func findSession(_ name: String) throws(SystemError) -> (session: AgentSession, tasks: [StoredTask])? {
        let sessionFolder = sessionFolder(named: name)
        do throws(URLError) {
            try sessionFolder.prepare()
        } catch {
            if let cause = error.systemError, cause.isShortage { throw cause }
            log.write("ignored \(name): \(error.localizedDescription)")
            return nil
        }
        guard let record = try sessionFolder.readSession(), folder.session(record.identifier).lastPathComponent == name
        else {
            // An agent may have been killed before the record was in place, or after it was removed.
            if try sessionFolder.readTasks().isEmpty { sessionFolder.remove() }
            log.write("ignored \(name): it has no record of a session")
            return nil
        }
        let tasks = try sessionFolder.readTasks()
        return (makeSession(record), tasks)
    }

    private func sessionFolder(named name: String) -> SessionFolder {
        SessionFolder(url: folder.sessions.appendingPathComponent(name, isDirectory: true), log: log)
    }

    private func makeSession(_ record: SessionRecord) -> AgentSession {
        let sessionFolder = sessionFolder(named: folder.session(record.identifier).lastPathComponent)
        let session = AgentSession(record, in: sessionFolder, on: queue) { [unowned self] in exitIfIdle() }
        sessions[ExactText(record.identifier)] = session
        return session
    }

    /// The session that a program asks for. If its record couldn't be read, those of its tasks may still exist. Throws if any of these
    /// can't be read at the moment.
    private func session(for wanted: Hello.Session) throws(SystemError) -> AgentSession {
        let identifier = ExactText(wanted.identifier)
        if let session = sessions[identifier] { return session }
        let sessionFolder = sessionFolder(named: folder.session(wanted.identifier).lastPathComponent)
        let record = try sessionFolder.readSession().flatMap { ExactText($0.identifier) == identifier ? $0 : nil }
        let stored = try sessionFolder.readTasks()
        let session = makeSession(record ?? SessionRecord(identifier: wanted.identifier, settings: wanted.settings))
        guard !stored.isEmpty else { return session }
        do throws(URLError) {
            try session.folder.prepare()
        } catch {
            session.log("its folder can't be used: \(error.localizedDescription)")
        }
        session.load(stored)
        return session
    }

    private func forgetIfOver(_ session: AgentSession) {
        guard session.isOver else { return }
        sessions[ExactText(session.record.identifier)] = nil
        session.close()
    }

    // MARK: - The socket

    private func listen(on given: Int32? = nil) throws(SystemError) {
        let descriptor: Int32
        if let given {
            descriptor = given
            isSocketGiven = true
            _ = fcntl(given, F_SETFL, fcntl(given, F_GETFL) | O_NONBLOCK)
            _ = fcntl(given, F_SETFD, FD_CLOEXEC)
        } else {
            descriptor = try UnixSocket.listen(StateFolder.socketName, in: folder.url)
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [unowned self] in accept() }
        source.setCancelHandler { close(descriptor) }
        listener?.cancel()
        listener = source
        source.resume()
    }

    /// Replaces the socket's file if it is removed, as that cuts the agent off from its programs. An agent whose lock file is gone, by itself
    /// or with the folder, is no longer the only one, and exits.
    private func watchFolder() {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        let events = UInt32(IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF)
        guard descriptor >= 0, inotify_add_watch(descriptor, folder.url.path, events) >= 0 else { return }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [unowned self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while read(descriptor, &buffer, buffer.count) > 0 {}
            checkFiles()
        }
        watch = source
        source.resume()
    }

    /// Ends the agent on SIGTERM, once it has recorded what the next one needs. `AgentProcess` has blocked the signal.
    private func watchForTermination() {
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: queue)
        source.setEventHandler { [unowned self] in handOver("SIGTERM") }
        termination = source
        source.resume()
    }

    private func checkFiles() {
        guard hasLock else { exit("its lock is gone") }
        guard !isSocketGiven, !exists(StateFolder.socketName) else { return }
        // The whole folder may be about to be removed.
        queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [self] in
            guard hasLock else { exit("its lock is gone") }
            guard !exists(StateFolder.socketName) else { return }
            do throws(SystemError) {
                try listen()
                log.write("made its socket anew")
            } catch {
                log.write("can't make its socket anew: \(error)")
            }
        }
    }

    /// Whether another agent would find the lock taken.
    private var hasLock: Bool {
        LockedFile.isInPlace(folder.url.appendingPathComponent(StateFolder.lockName).path, lock)
    }

    private func exists(_ name: String) -> Bool {
        access(folder.url.appendingPathComponent(name).path, F_OK) == 0
    }

    private func accept() {
        guard let listener else { return }
        while true {
            let descriptor = Glibc.accept(Int32(listener.handle), nil, nil)
            guard descriptor >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause(listener)
                default: return
                }
            }
            // Programs are started only on this queue.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            awaitHello(on: descriptor)
        }
    }

    /// Stops accepting for a second: the connection stays in the socket's queue, and would trigger this again and again.
    private func pause(_ listener: any DispatchSourceRead) {
        log.write("can't accept a connection: \(SystemError.current)")
        listener.suspend()
        nonisolated(unsafe) let listener = listener
        queue.asyncAfter(deadline: .now() + 1) { listener.resume() }
    }

    /// A program has connected, but hasn't named its session yet.
    private func awaitHello(on descriptor: Int32) {
        let reference = ChannelReference()
        let channel: Channel
        do throws(SystemError) {
            channel = try Channel(descriptor, on: queue) { [unowned self] messages in
                if let channel = reference.channel { receive(messages, on: channel) }
            } ended: { [unowned self] reason in
                if let channel = reference.channel { ended(channel, reason) }
            }
        } catch {
            return log.write("refused a connection\(error.code == EPERM ? " of another user" : ": \(error)")")
        }
        reference.channel = channel
        arrivalTime = .zero
        channels[ObjectIdentifier(channel)] = (channel, nil)
        exitIfIdle()
    }

    /// Gives the channel to its own handlers, which are made before it.
    private final class ChannelReference {
        weak var channel: Channel?
    }

    private func ended(_ channel: Channel, _ reason: String?) {
        let session = channels.removeValue(forKey: ObjectIdentifier(channel))?.session
        if let reason { log.write("connection of \(channel.peer.pid): \(reason)") }
        if let session {
            session.detach()
            forgetIfOver(session)
        }
        exitIfIdle()
    }

    // MARK: - Messages

    private func receive(_ messages: [ClientMessage], on channel: Channel) {
        var rest = messages[...]
        while !rest.isEmpty, let place = channels[ObjectIdentifier(channel)] {
            if let session = place.session { return session.receive(Array(rest), on: channel) }
            receive(rest.removeFirst(), on: channel)
        }
    }

    /// Handles a message from a program that hasn't named its session yet.
    private func receive(_ message: ClientMessage, on channel: Channel) {
        switch message {
        case .hello(let hello):
            answer(hello, channel)
        case .status:
            let status = sessions.values.map(\.status).sorted { $0.identifier < $1.identifier }
            if !channel.send(.status(status)) { channel.send(.refused(.other("There are too many tasks to list."))) }
        case .cancelAll(let identifier):
            let isComplete = load()
            let wanted = identifier.map { ExactText($0) }
            for (name, session) in sessions where wanted == nil || wanted == name {
                session.log("all tasks are cancelled")
                session.forceQuit()
            }
            channel.send(isComplete ? .done : .refused(.other("Some sessions can't be read at the moment.")))
            exitIfIdle()
        case .submit, .intent, .acknowledge, .checkpoint, .answer, .renew:
            log.write("connection of \(channel.peer.pid): a message before its time")
            channel.close()
            ended(channel, nil)
        }
    }

    private func answer(_ hello: Hello, _ channel: Channel) {
        guard let wanted = hello.session else {
            channel.send(.refused(.version(Hello.currentVersion)))
            // A newer program brings a newer agent, which continues where this one stops.
            if hello.version > Hello.currentVersion, !sessions.values.contains(where: \.isAttached) {
                handOver("a program of version \(hello.version) has come")
            }
            return
        }
        let session: AgentSession
        do throws(SystemError) {
            session = try self.session(for: wanted)
        } catch {
            log.write("connection of \(channel.peer.pid): its session can't be read: \(error)")
            channel.send(.refused(.notNow("The agent can't read what it has of the session: \(error).")))
            return
        }
        guard !session.checkAttached() else {
            channel.send(.refused(.inUse(pid: session.status.pid ?? 0)))
            return
        }
        // The previous program's detaching may have ended the session.
        sessions[ExactText(wanted.identifier)] = session
        channels[ObjectIdentifier(channel)]?.session = session
        session.attach(channel, wanted.settings)
    }

    // MARK: - The end

    /// Exits after the idle time without work. Called after every change.
    private func exitIfIdle() {
        idleChecks += 1
        let check = idleChecks
        guard isIdle else { return }
        queue.asyncAfter(deadline: .after(max(idleTime, arrivalTime))) { [self] in
            guard check == idleChecks, isIdle else { return }
            // A program may just have connected.
            accept()
            if isIdle { exit("idle") }
        }
    }

    private var isIdle: Bool {
        channels.isEmpty && !isLoadComing && !sessions.values.contains(where: \.needsAgent)
    }

    /// Exits with work left, which another agent continues.
    private func handOver(_ reason: String) -> Never {
        for session in sessions.values { session.prepareForExit() }
        exit(reason)
    }

    private func exit(_ reason: String) -> Never {
        log.write("ends: \(reason)")
        for place in channels.values { place.channel.flush() }
        // Without the lock, the socket may be another agent's.
        if !isSocketGiven, hasLock { unlink(folder.url.appendingPathComponent(StateFolder.socketName).path) }
        // Everything still to be done is in the records.
        _exit(0)
    }
}
