import CurlTransport
import Dispatch
import Foundation
import Glibc
import CurlNetworkingLocks

/// The threads on which one protocol class's objects load. Each runs its run loop, so that timers and streams that an object schedules
/// there fire.
///
/// A thread takes waiting loads when it is free. Another thread is started only if no waiting load is taken within `stallInterval`: a class
/// that blocks a thread delays its own loads briefly, and those of other classes not at all. A thread with no loads ends after a few
/// seconds.
final class RunLoopThreads: Sendable {
    /// If a class blocks this many threads, its further loads wait until one returns.
    static let limit = 16
    private static let stallInterval = DispatchTimeInterval.milliseconds(20)

    private struct Member {
        let thread: RunLoopThread
        var isBusy = true
        /// How many live executors are bound to it.
        var executorCount = 0
    }

    private struct State {
        /// By number, from `taken` up to `entered`, except those that have left.
        var waiting: [Int: RunLoopExecutor] = [:]
        var numbers: [ObjectIdentifier: Int] = [:]
        var taken = 0
        var entered = 0
        var members: [Member] = []
        /// Whether a check of the waiting loads is scheduled.
        var isWatched = false

        mutating func index(of thread: RunLoopThread) -> Int? { members.firstIndex { $0.thread === thread } }

        var idle: [RunLoopThread] { members.filter { !$0.isBusy }.map(\.thread) }

        mutating func enter(_ executor: RunLoopExecutor) {
            waiting[entered] = executor
            numbers[ObjectIdentifier(executor)] = entered
            entered += 1
        }

        mutating func remove(_ executor: RunLoopExecutor) {
            if let number = numbers.removeValue(forKey: ObjectIdentifier(executor)) { waiting[number] = nil }
        }

        mutating func takeNext() -> RunLoopExecutor? {
            while taken < entered {
                defer { taken += 1 }
                guard let executor = waiting[taken] else { continue }
                remove(executor)
                return executor
            }
            return nil
        }

        mutating func addThread(of threads: RunLoopThreads) -> RunLoopThread {
            let thread = RunLoopThread(of: threads)
            members.append(Member(thread: thread))
            return thread
        }
    }

    private let state = Mutex(State())

    private static let all = Mutex<[ObjectIdentifier: RunLoopThreads]>([:])

    /// The threads of `protocolClass`. Any thread.
    static func threads(of protocolClass: AnyClass) -> RunLoopThreads {
        all.withLock { all in
            let identifier = ObjectIdentifier(protocolClass)
            if let threads = all[identifier] { return threads }
            let threads = RunLoopThreads()
            all[identifier] = threads
            return threads
        }
    }

    // MARK: - For executors, on any thread

    /// Assigns a thread to `executor`, now or later.
    func enter(_ executor: RunLoopExecutor) {
        let (thread, isNew, watches) = state.withLock { state in
            state.enter(executor)
            defer { state.isWatched = true }
            // A different one for each waiting executor.
            let idle = state.idle
            let thread = idle.isEmpty ? nil : idle[(state.waiting.count - 1) % idle.count]
            let new = state.members.isEmpty ? state.addThread(of: self) : nil
            return (thread ?? new, new != nil, state.isWatched ? nil : state.taken)
        }
        if isNew { thread?.start() } else { thread?.wake() }
        if let watches { watch(since: watches) }
    }

    /// Called when `executor` no longer waits for a thread.
    func remove(_ executor: RunLoopExecutor) {
        state.withLock { $0.remove(executor) }
    }

    /// Called when one of `thread`'s executors is gone.
    func leave(_ thread: RunLoopThread) {
        state.withLock { state in
            guard let index = state.index(of: thread) else { return }
            state.members[index].executorCount -= 1
        }
    }

    // MARK: - For threads

    /// The next waiting executor, now bound to `thread`; if there is none, `thread` becomes idle.
    func takeNext(for thread: RunLoopThread) -> RunLoopExecutor? {
        state.withLock { state in
            guard let index = state.index(of: thread) else { return nil }
            guard let executor = state.takeNext() else {
                state.members[index].isBusy = false
                return nil
            }
            state.members[index].isBusy = true
            state.members[index].executorCount += 1
            return executor
        }
    }

    /// Removes `thread` and returns true if it has nothing left to do.
    func dismiss(_ thread: RunLoopThread) -> Bool {
        state.withLock { state in
            guard let index = state.index(of: thread) else { return true }
            guard state.waiting.isEmpty, state.members[index].executorCount == 0 else { return false }
            state.members.remove(at: index)
            return true
        }
    }

    // MARK: - Blocked threads

    /// Not a global queue, all of whose threads a program can block.
    private static let watch = DispatchQueue(label: "CurlNetworking.protocols")

    private func watch(since taken: Int) {
        Self.watch.asyncAfter(deadline: .now() + Self.stallInterval) {
            self.startThreadIfStalled(since: taken)
        }
    }

    private func startThreadIfStalled(since taken: Int) {
        let (thread, idle, watches): (RunLoopThread?, [RunLoopThread], Int?) = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isWatched = false
                return (nil, [], nil)
            }
            guard state.taken == taken else { return (nil, [], state.taken) }
            // Idle threads may be blocked, too, in a later call for a load that they have had: `stopLoading`, or a timer.
            let idle = state.idle
            state.isWatched = state.members.count < Self.limit
            return (state.isWatched ? state.addThread(of: self) : nil, idle, state.isWatched ? state.taken : nil)
        }
        thread?.start()
        for thread in idle { thread.wake() }
        if let watches { watch(since: watches) }
    }
}

/// Runs one load's calls in order, all on one thread, assigned with the first call.
final class RunLoopExecutor: Sendable {
    typealias Work = @Sendable () -> Void

    private enum Place {
        case none
        /// Waits for a thread, with the work to do.
        case waiting([Work])
        case thread(RunLoopThread)
    }

    private let threads: RunLoopThreads
    private let place = Mutex(Place.none)

    init(_ threads: RunLoopThreads) {
        self.threads = threads
    }

    deinit {
        if case .thread(let thread) = place.withLock({ $0 }) { threads.leave(thread) }
    }

    /// Runs `work` after all earlier work. Any thread; doesn't wait for it.
    func run(_ work: @escaping Work) {
        let (thread, isFirst): (RunLoopThread?, Bool) = place.withLock { place in
            switch place {
            case .none:
                place = .waiting([work])
                return (nil, true)
            case .waiting(let others):
                place = .waiting(others + [work])
                return (nil, false)
            case .thread(let thread): return (thread, false)
            }
        }
        if isFirst { threads.enter(self) }
        thread?.perform(work)
    }

    /// If no work has begun, gives all of it up and returns true: no more may follow. Any thread.
    func abandon() -> Bool {
        // With its work, which is freed outside of the lock.
        let former = place.withLock { place in
            let former = place
            if case .thread = former { return former }
            place = .waiting([])
            return former
        }
        if case .thread = former { return false }
        threads.remove(self)
        return true
    }

    /// Binds it to `thread` for good; returns the work that was waiting.
    fileprivate func bind(to thread: RunLoopThread) -> [Work] {
        place.withLock { place in
            guard case .waiting(let work) = place else { return [] }
            place = .thread(thread)
            return work
        }
    }
}

/// One thread and its run loop.
///
/// `@unchecked Sendable`: the properties are grouped by who may touch them.
final class RunLoopThread: @unchecked Sendable {
    // MARK: Never changes

    private let threads: RunLoopThreads

    // MARK: Any thread

    private struct Inbox {
        var work: [RunLoopExecutor.Work] = []
        /// nil unless the thread runs.
        var alarm: Alarm?
        /// Whether the run loop has yet to make a call of `drain`.
        var isDrainScheduled = false
    }

    /// The means by which other threads wake the run loop, as CFRunLoop's own locks allow: `perform` alone doesn't wake it. The timer is
    /// the thread's only one, because Foundation never frees a timer's memory.
    private struct Alarm {
        nonisolated(unsafe) let runLoop: RunLoop
        nonisolated(unsafe) let timer: Timer
    }

    private let inbox = Mutex(Inbox())

    // MARK: Its own thread only

    private var depth = 0

    /// How long the thread stays without work, in seconds.
    private static let idleTime: TimeInterval = 5

    init(of threads: RunLoopThreads) {
        self.threads = threads
    }

    private static let shortage = Mutex(())

    /// Has this thread take its run loop, if the process has the descriptors for it: Foundation traps if it can't get them. One thread at a
    /// time, or another could take those that this one has found.
    private static func takeRunLoop() -> Bool {
        shortage.withLock { _ in
            guard hasDescriptors else { return false }
            _ = RunLoop.current
            return true
        }
    }

    /// Whether the process has as many descriptors left as a run loop takes: three, and three more for the main thread's, which is made
    /// together with the first.
    private static var hasDescriptors: Bool {
        var probes: [Int32] = []
        defer { for probe in probes { close(probe) } }
        while probes.count < 6 {
            let probe = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard probe >= 0 else { return !SystemError.current.isShortage }
            probes.append(probe)
        }
        return true
    }

    /// How soon a thread without descriptors looks for them again, in seconds.
    private static let shortageInterval: TimeInterval = 0.02

    // MARK: - Any thread

    func start() {
        let thread = Thread { self.main() }
        thread.name = "URLProtocol"
        thread.start()
    }

    func perform(_ work: @escaping RunLoopExecutor.Work) {
        inbox.withLock { $0.work.append(work) }
        wake()
    }

    /// Makes the run loop check for work.
    func wake() {
        inbox.withLock { scheduleDrain(&$0) }
    }

    private func scheduleDrain(_ inbox: inout Inbox) {
        guard let alarm = inbox.alarm, !inbox.isDrainScheduled else { return }
        inbox.isDrainScheduled = true
        // Not in the timer's block: a run loop that an object runs within it doesn't fire the same timer.
        alarm.runLoop.perform { [weak self] in self?.drainAsScheduled() }
        alarm.timer.fireDate = .distantPast
    }

    // MARK: - On the thread itself

    private func main() {
        // The tasks' time-outs limit this.
        while !Self.takeRunLoop() { Thread.sleep(forTimeInterval: Self.shortageInterval) }
        let runLoop = RunLoop.current
        // A run loop with no sources doesn't wait.
        let timer = Timer(timeInterval: 1e9, repeats: true) { _ in }
        runLoop.add(timer, forMode: .default)
        let alarm = Alarm(runLoop: runLoop, timer: timer)
        inbox.withLock { $0.alarm = alarm }
        repeat {
            drain()
            _ = runLoop.run(mode: .default, before: Date(timeIntervalSinceNow: Self.idleTime))
        } while !threads.dismiss(self)
        // Work that an executor's last caller added before releasing it. None can be added after that.
        drain()
        inbox.withLock { $0.alarm = nil }
        timer.invalidate()
    }

    private func drainAsScheduled() {
        inbox.withLock { $0.isDrainScheduled = false }
        drain()
    }

    /// Objects may run the loop themselves: then they get events for their own thread, but no other load is started on top.
    private func drain() {
        depth += 1
        defer { depth -= 1 }
        while true {
            while let work = nextWork() { work() }
            guard depth == 1, let executor = threads.takeNext(for: self) else { return }
            for work in executor.bind(to: self) { work() }
        }
    }

    private func nextWork() -> RunLoopExecutor.Work? {
        inbox.withLock { inbox in
            guard !inbox.work.isEmpty else { return nil }
            let next = inbox.work.removeFirst()
            // If an object runs the loop in `next`, the remaining work is done there.
            if !inbox.work.isEmpty { scheduleDrain(&inbox) }
            return next
        }
    }
}
