import CurlTransport
import Foundation

/// A background session in its agent: its tasks, its folder, and the attached program, if there is one. Agent's queue.
///
/// `@unchecked Sendable`: used only on the agent's queue.
final class AgentSession: @unchecked Sendable {
    typealias Channel = MessageChannel<ClientMessage, AgentMessage>

    let folder: SessionFolder
    private(set) var record: SessionRecord
    /// When tasks run out of time.
    let timeouts: Alarms<AgentTask>
    /// When to record results that the program hasn't taken, or that couldn't be recorded earlier.
    let unrecordedEnds: Alarms<AgentTask>
    let transfers: AgentTransfers
    private let queue: DispatchQueue
    /// Called when a change affects whether the agent stays.
    let changed: () -> Void
    private(set) var tasks: [UUID: AgentTask] = [:]
    /// Tasks whose end the program knows, and whose records can't be removed at the moment: only this agent knows that they are over.
    private var unremoved: [AgentTask] = []
    private var removalBackoff = RetryBackoff()
    private var program = Program.none
    private(set) lazy var questions = AgentQuestions(of: self)
    private lazy var launcher = SessionLauncher(of: self)
    /// Tasks whose progress has yet to be reported to the program.
    private var unreportedProgress: Set<UUID> = []
    private var isFlushScheduled = false
    /// Whether recording the tasks' elapsed times is scheduled.
    private var isTimeRecordScheduled = false

    private enum Program {
        case none
        /// It has yet to be told of these tasks, and then that it is attached.
        case arriving(Channel, rest: ArraySlice<AgentTask>)
        case attached(Channel)

        var channel: Channel? {
            switch self {
            case .none: nil
            case .arriving(let channel, _), .attached(let channel): channel
            }
        }
    }

    /// How long progress is collected before the program is told.
    private static let progressInterval = Duration.milliseconds(50)

    init(_ record: SessionRecord, in folder: SessionFolder, on queue: DispatchQueue, changed: @escaping () -> Void) {
        self.record = record
        self.folder = folder
        self.queue = queue
        self.changed = changed
        transfers = AgentTransfers(on: queue)
        timeouts = Alarms(on: queue) { $0.expire() }
        unrecordedEnds = Alarms(on: queue) { task in
            task.recordUnrecordedEnd()
            changed()
        }
    }

    // MARK: - State

    var isAttached: Bool { program.channel != nil }
    /// Whether nothing is left for a program to come back for.
    var isOver: Bool { tasks.isEmpty && unremoved.isEmpty && !isAttached }
    /// Whether the agent has to stay for this session.
    var needsAgent: Bool { launcher.isDue || !unremoved.isEmpty || tasks.values.contains { $0.needsAgent } }
    var resourceTimeout: TimeInterval { record.settings.resourceTimeout }
    var resumableSize: Int64 { record.settings.resumableSize }

    var status: SessionStatus {
        SessionStatus(identifier: record.identifier, pid: program.channel?.peer.pid, tasks: orderedTasks.map(\.status))
    }

    private var orderedTasks: [AgentTask] {
        tasks.values.sorted { $0.record.submission.identifier < $1.record.submission.identifier }
    }

    func log(_ text: String) {
        folder.log.write("\(record.identifier.prefix(100)): \(text)")
    }

    func perform(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }

    func after(_ delay: Duration, _ body: @escaping () -> Void) {
        perform(at: .after(delay), body)
    }

    func perform(at time: DispatchTime, _ body: @escaping () -> Void) {
        nonisolated(unsafe) let body = body
        queue.asyncAfter(deadline: time) { body() }
    }

    /// Calls back once the file is on disk, or can't be synced.
    func sync(_ file: String, _ completion: @escaping @Sendable (Result<Void, URLError>) -> Void) {
        WorkThreads.files.run { [folder, queue] in
            let result = Result { () throws(URLError) in try folder.syncFile(file) }
            queue.async { completion(result) }
        }
    }

    /// Moves a task's partial file from the program's directory to the session's folder, as `name`. Calls back with the moved file; nil if
    /// it can't be moved.
    func takeOver(_ source: PartialFile, as name: String, _ completion: @escaping @Sendable (PartialFile?) -> Void) {
        WorkThreads.files.run { [folder, queue] in
            let partial = source.moved(to: folder.files, as: name)
            queue.async { completion(partial) }
        }
    }

    /// Removes the program's partial file, once copied, unless a download is still writing to it.
    func removeSource(_ source: PartialFile) {
        WorkThreads.files.run { source.remove(in: source.folder) }
    }

    // MARK: - Loading and closing

    /// Continues the tasks that an earlier agent left.
    func load(_ stored: [StoredTask]) {
        for var task in stored {
            if !task.checkFile() { log("task \(task.record.submission.identifier): its file has been lost") }
            task.record.noteElapsed(in: record)
            tasks[task.key] = AgentTask(task, in: self)
        }
        let known = tasks.values.reduce(into: Set<String>()) { $0.formUnion($1.files) }
        let spared = folder.removeFiles(except: known, longerThan: resumableSize)
        if !spared.isEmpty {
            after(SessionFolder.sparing) { [folder] in spared.forEach(folder.removeUnlessInUse) }
        }
        log("found \(tasks.count) tasks")
        for task in orderedTasks { task.start() }
        launcher.runIfDue()
    }

    /// Removes all files of a session that is over. It may be used again.
    func close() {
        transfers.cancelAll()
        folder.remove()
    }

    /// Cancels all tasks that haven't ended.
    func forceQuit() {
        for task in orderedTasks { task.forceQuit() }
    }

    // MARK: - The program

    /// Whether the attached program is still there; detects one that was just killed.
    func checkAttached() -> Bool {
        program.channel?.read()
        return isAttached
    }

    /// Attaches a program. It gets a list of all tasks, and then news of them.
    func attach(_ channel: Channel, _ settings: SessionDescription) {
        var renewed = SessionRecord(identifier: record.identifier, settings: settings)
        if settings.program == record.settings.program { renewed.answersChallenges = record.answersChallenges }
        renewed.hasLaunched = record.hasLaunched
        renewed.elapsed = record.elapsed
        let isChanged = !settings.equals(record.settings)
        if isChanged { transfers.retire() }
        record = renewed
        if !tasks.isEmpty { save() }
        log("attached by \(channel.peer.pid)")
        program = .arriving(channel, rest: orderedTasks[...])
        listTasks()
        // The user may have restored connectivity before starting the program.
        transfers.retryUnreachableHosts()
        for task in orderedTasks {
            if isChanged { task.renew() }
            task.retryNow()
        }
        changed()
    }

    /// Lists all tasks to an attaching program, pausing while it is slow to read, and then welcomes it.
    private func listTasks() {
        while case .arriving(let channel, var rest) = program {
            guard let task = rest.popFirst() else { return welcome(channel) }
            program = .arriving(channel, rest: rest)
            let listing = task.listing
            guard channel.send(.listing(listing)) || channel.send(.listing(listing.abridged)) else {
                let number = task.record.submission.identifier
                log("task \(number): it can't be described to the program")
                channel.send(.refused(.other("The agent can't describe task \(number).")))
                return
            }
            if channel.isBackedUp { return channel.whenWritten { [weak self] in self?.listTasks() } }
        }
    }

    private func welcome(_ channel: Channel) {
        program = .attached(channel)
        channel.send(.welcome)
        questions.repeatAll(on: channel)
        flushProgress()
    }

    /// The program is gone, for whatever reason.
    func detach() {
        program = .none
        unreportedProgress = []
        log("detached")
        for task in orderedTasks { task.recordUnrecordedEnd() }
        launcher.runIfDue()
        changed()
    }

    func send(_ message: AgentMessage) {
        if case .attached(let channel) = program { channel.send(message) }
    }

    /// Handles messages that arrived together: all new tasks among them are recorded together.
    func receive(_ messages: [ClientMessage], on channel: Channel) {
        var submissions: [TaskSubmission] = []
        for message in messages {
            if case .submit(let submission) = message {
                submissions.append(submission)
            } else {
                receive(message, after: &submissions, on: channel)
            }
        }
        submit(submissions)
    }

    /// Records the tasks submitted earlier, if the message is about one of them.
    private func receive(_ message: ClientMessage, after submissions: inout [TaskSubmission], on channel: Channel) {
        if let key = message.task, submissions.contains(where: { $0.key == key }) {
            submit(submissions)
            submissions = []
        }
        switch message {
        case .intent(let key, let intent):
            tasks[key]?.change(to: intent)
            changed()
        case .acknowledge(let key): forget(key, channel)
        case .checkpoint(let key, let number):
            guard let task = tasks[key] else { return send(.checkpoint(number, nil)) }
            task.checkpoint { data in self.perform { self.send(.checkpoint(number, data)) } }
        case .answer(let number, let reply): questions.answer(number, reply)
        case .renew(let number, let forgets): renewConnections(forgetting: forgets) { self.send(.renewed(number)) }
        case .hello, .submit, .status, .cancelAll: break
        }
    }

    private func submit(_ submissions: [TaskSubmission]) {
        var new: [UUID: TaskSubmission] = [:]
        for submission in submissions {
            if tasks[submission.key] != nil {
                send(.accepted(submission.key))
            } else if let fault = submission.fault {
                let text = "The agent refuses: \(fault)."
                refuse(submission, URLError(.unsupportedURL, url: submission.request.url, text))
            } else {
                new[submission.key] = submission
            }
        }
        guard !new.isEmpty else { return }
        launcher.allowAgain()
        begin(new.values.sorted { $0.identifier < $1.identifier })
        changed()
    }

    /// Begins new tasks, with what their resume data refers to in the session's folder.
    private func begin(_ submissions: [TaskSubmission]) {
        do throws(URLError) {
            if tasks.isEmpty {
                try folder.prepare()
                try folder.write(record)
            }
            let directory = record.settings.temporaryDirectory
            accept(
                submissions.map { submission in
                    var record = TaskRecord(submission)
                    record.takeOver(from: directory, to: folder.files)
                    return record
                }
            )
        } catch {
            for submission in submissions { refuse(submission, unrecorded: error) }
        }
    }

    /// Begins tasks once they are on disk.
    private func accept(_ records: [TaskRecord]) {
        do throws(URLError) {
            let batch = try folder.add(records)
            let accepted = records.map { AgentTask(StoredTask($0, in: folder, batch: batch), in: self) }
            for task in accepted {
                tasks[task.key] = task
                log(
                    "task \(task.record.submission.identifier): \(AgentLog.text(of: task.record.submission.request.url))"
                )
                send(.accepted(task.key))
            }
            for task in accepted { task.start() }
        } catch {
            if records.count == 1 { return refuse(records[0].submission, unrecorded: error) }
            // There may be room for some of them.
            for record in records { accept([record]) }
        }
    }

    private func refuse(_ submission: TaskSubmission, unrecorded error: URLError) {
        refuse(submission, error.forRequest(to: submission.request.url))
    }

    /// Refuses a task, and returns its resume data to the program, whose partial file hasn't moved.
    private func refuse(_ submission: TaskSubmission, _ error: URLError) {
        log("task \(submission.identifier) refused: \(error.localizedDescription)")
        let ending = TaskEnding(
            error: ErrorDescription(error),
            resumeData: submission.resumeData,
            progress: TaskProgress(key: submission.key)
        )
        send(.ended(submission.key, ending))
    }

    private func forget(_ key: UUID, _ channel: Channel) {
        if let task = tasks.removeValue(forKey: key) {
            if !remove(task) {
                unremoved.append(task)
                if unremoved.count == 1 { scheduleRemoval() }
            }
            launcher.allowAgain()
        }
        questions.remove(about: key)
        channel.send(.forgotten(key))
        recordsWereRemoved()
    }

    private func recordsWereRemoved() {
        if tasks.isEmpty, unremoved.isEmpty { folder.remove() }
        changed()
    }

    /// Returns false if the task's record can't be removed at the moment.
    private func remove(_ task: AgentTask) -> Bool {
        do throws(SystemError) {
            try task.forget()
            return true
        } catch {
            log("task \(task.record.submission.identifier): its record can't be removed: \(error)")
            return false
        }
    }

    private func scheduleRemoval() {
        after(removalBackoff.delay(jitter: .random(in: 0...1))) { [weak self] in self?.removeAgain() }
    }

    private func removeAgain() {
        unremoved.removeAll(where: remove)
        guard unremoved.isEmpty else { return scheduleRemoval() }
        removalBackoff.reset()
        recordsWereRemoved()
    }

    /// Changes the record, which is on disk as long as there are tasks.
    func change(_ change: (inout SessionRecord) -> Void) {
        change(&record)
        if !tasks.isEmpty { save() }
    }

    private func save() {
        do throws(URLError) {
            try folder.write(record)
        } catch {
            log("its record can't be written: \(error.localizedDescription)")
        }
    }

    // MARK: - Progress

    func noteProgress(of task: AgentTask) {
        guard isAttached else { return }
        unreportedProgress.insert(task.key)
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        after(Self.progressInterval) { [weak self] in self?.flushProgress() }
    }

    /// Reports progress once the program has read earlier messages: one that is slow to read gets only the latest.
    func flushProgress() {
        isFlushScheduled = false
        guard case .attached(let channel) = program, !unreportedProgress.isEmpty else { return }
        channel.whenWritten { [weak self] in self?.sendProgress() }
    }

    private func sendProgress() {
        let progress = unreportedProgress.compactMap { key in
            tasks[key].flatMap { $0.hasEnded ? nil : $0.progress }
        }
        unreportedProgress = []
        if !progress.isEmpty { send(.progress(progress)) }
    }

    // MARK: - Time

    /// The task's time-out clock is running, with `remaining` left.
    func clockStarted(_ task: AgentTask, _ remaining: Duration) {
        timeouts.set(task, after: remaining)
        scheduleTimeRecord()
    }

    private func scheduleTimeRecord() {
        guard !isTimeRecordScheduled else { return }
        isTimeRecordScheduled = true
        after(TimeoutClock.recordInterval(of: resourceTimeout)) { [weak self] in
            guard let self else { return }
            isTimeRecordScheduled = false
            guard tasks.values.contains(where: \.isTimed) else { return }
            recordTimes()
            scheduleTimeRecord()
        }
    }

    /// Records the elapsed times of all tasks, in a single write, in case the agent is killed.
    func recordTimes() {
        let open = tasks.values.filter { !$0.hasEnded }
        let elapsed = Dictionary(uniqueKeysWithValues: open.map { ($0.key.uuidString, $0.elapsed) })
        guard elapsed != record.elapsed ?? [:] else { return }
        record.elapsed = elapsed
        save()
    }

    /// The agent is about to exit, and another one will continue.
    func prepareForExit() {
        recordTimes()
        for task in orderedTasks { task.recordUnrecordedEnd() }
    }

    // MARK: - Tasks

    /// Makes later requests use new connections, and, if `forgets`, none of the earlier credentials, decisions and cookies.
    private func renewConnections(forgetting forgets: Bool, _ completion: @escaping @Sendable () -> Void) {
        let renewal = DispatchGroup()
        if forgets {
            transfers.forgetCredentials()
            for task in tasks.values {
                renewal.enter()
                task.forgetCredentials { renewal.leave() }
            }
        }
        transfers.renewConnections(renewal)
        renewal.notify(queue: queue, execute: completion)
    }

    func task(for task: URLSessionTask) -> AgentTask? {
        transfers.key(of: task).flatMap { tasks[$0] }
    }

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        let owner = transfers.completed(task).flatMap { tasks[$0] }
        owner?.completed(task, error)
    }

    func taskEnded(_ task: AgentTask, _ ending: TaskEnding) {
        switch program {
        case .none:
            break
        case .arriving(let channel, let rest):
            // It may have been told of the task already: the later listing counts.
            program = .arriving(channel, rest: rest + [task])
        case .attached(let channel):
            if !channel.send(.ended(task.key, ending)) { channel.send(.ended(task.key, ending.abridged)) }
        }
        questions.remove(about: task.key)
        launcher.runIfDue()
        changed()
    }
}
