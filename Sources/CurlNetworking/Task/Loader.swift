import CurlTransport
import Foundation

/// Runs a task on its event loop, from its first `resume()` to its end: asks the steps about each request, waits for its place, runs its
/// transfer, and asks the steps about the response.
///
/// This file contains everything up to a transfer, `Loader+Transfer.swift` the transfer's reports, and `Loader+Steps.swift` the requests of
/// steps.
///
/// `@unchecked Sendable`: loop only, unless noted otherwise. The task's handle retains it until the work is done.
final class Loader: HostPlaceOwner, @unchecked Sendable {
    // MARK: Never changes

    let handle: TaskHandle
    let steps: Steps
    /// The reads and writes of a task that was created as a stream task.
    let port: StreamPort?

    // MARK: Loop only

    // A request accesses some of these more than twenty times; unchecked exclusivity saves 1 % of its instructions.
    @exclusivity(unchecked) private(set) var phase = Phase.ready(step: 0, .first)
    /// The current request; `handle` shows a copy.
    private(set) var request: URLRequest?
    @exclusivity(unchecked) var sink: any Sink
    private(set) lazy var place = HostPlace(self)
    var budget = TaskBudget()
    @exclusivity(unchecked) private var clocks = Clocks()
    @exclusivity(unchecked) var hops = HopLog()

    /// For a task that begins. Called on the task's loop.
    init(_ handle: TaskHandle) {
        self.handle = handle
        request = handle.originalRequest
        let (consumer, delegates, beginDate) = handle.shared.withLock { shared in
            (shared.consumer, shared.delegates, shared.settings.earliestBeginDate)
        }
        port = consumer.port
        sink = consumer.makeSink(for: handle)
        let hasOwnDelegate = delegates.base != nil
        let facts = Steps.Facts(handle, sink, consumer, beginDate: beginDate, hasOwnDelegate: hasOwnDelegate)
        steps = handle.makeSteps(handle.session.settings, facts)
    }

    var session: SessionCore { handle.session }
    var pool: ConnectionPool { handle.pool }

    /// Changes the phase. A transition that isn't allowed ends the task.
    func enter(_ next: Phase) {
        if Phase.allows(phase.kind, to: next.kind) { return phase = next }
        let text = "A task can't go from \(phase.kind) to \(next.kind)."
        assertionFailure(text)
        fail(entering: next, text)
    }

    /// Ends the task with an error, and the transfers of both phases, in a separate turn, since the caller may be within libcurl.
    func fail(entering next: Phase, _ description: String) {
        let error = URLError(.unknown, url: request?.url, description)
        nonisolated(unsafe) let other = phase.isEnded ? next.transfer : phase.transfer
        // Nothing follows the end.
        if !phase.isEnded { phase = next }
        handle.submit {
            if other !== self.phase.transfer { other?.cancel() }
            self.finish(.failure(error))
        }
    }

    // MARK: - The machine's commands

    /// Carries out the machine's commands. Called after each change of intent.
    func run() {
        pool.loop.preconditionOnLoop()
        while true {
            let (command, runsResourceClock) = handle.nextCommand(activity)
            if let runsResourceClock { setResourceClock(isRunning: runsResourceClock) }
            guard let command else { break }
            switch command {
            case .advance: advance()
            case .leavePlace: leavePlace()
            case .setPaused(let isPaused):
                let transfer = phase.transfer
                transfer?.setPaused(isPaused)
                // If libcurl couldn't, this is tried again at its next call.
                guard transfer?.isPaused == isPaused else { return }
                rearmClocks()
            case .cancel(let cancellation): finish(cancelledBy: cancellation)
            }
        }
        // A cancelled task shows no response, so it needn't wait for its cookies, even if its transfer is over.
        if let storing = steps.storingCookies, handle.isCancelled { storing.stopWaiting(self) }
    }

    /// The phase as the machine sees it.
    private var activity: TaskStateMachine.Activity {
        switch phase {
        case .ready: return .preparing(isReady: true, hasPlace: ticket != nil)
        case .waiting, .queued, .moving: return .preparing(isReady: false, hasPlace: ticket != nil)
        case .transferring, .held:
            guard let transfer = phase.transfer else { return .busy }
            return .transferring(isPaused: transfer.isPaused, isHeld: phase.isHeld && !transfer.isKeepingBody)
        case .finishing: return .finishing
        case .encoding, .deciding, .storing, .ended: return .busy
        }
    }

    /// The request will be sent only when the task is resumed.
    private func leavePlace() {
        if case .queued(let attempt) = phase { enter(.ready(step: steps.all.count, attempt)) }
        place.leave()
        rearmClocks()
    }

    // MARK: - The steps before a transfer

    /// Asks the steps about the request, starting with the one whose turn it is.
    func advance() {
        while case .ready(let step, let attempt) = phase {
            guard step < steps.all.count else { return enterPool(attempt) }
            switch steps.all[step].prepare(attempt, self) {
            case .pass: enter(.ready(step: step + 1, attempt))
            case .wait: return enter(.waiting(step: step, attempt))
            case .fail(let error): return finish(.failure(error))
            case .load(let transfer):
                // If the task was suspended meanwhile, the step is asked again.
                guard handle.mayBegin else { return }
                return begin(transfer, of: step)
            }
        }
    }

    // MARK: - A place at the host

    private func enterPool(_ attempt: RequestAttempt) {
        do throws(URLError) {
            let (request, origin) = try Origin.destination(of: request, isStream: port != nil)
            guard let origin else {
                // A data or file URL needs no connection, and so no place, not even that of the previous request.
                place.leave()
                return handle.mayBegin ? launch(request) : ()
            }
            let next = place.isAt(origin) ? pool : session.pools.pool(for: origin)
            guard next === pool else { return move(to: next, attempt) }
            enter(.queued(attempt))
            place.enter(origin, priority: handle.settings.priority)
        } catch {
            finish(.failure(error))
        }
    }

    /// Moves the task to the loop of its next request's origin, without a place at its host. The task leaves in a separate turn, because
    /// callers on the stack still use it.
    private func move(to next: ConnectionPool, _ attempt: RequestAttempt) {
        place.leave()
        enter(.moving(to: next, attempt))
        pool.loop.submit {
            guard case .moving = self.phase else { return }
            self.clocks.disarm(on: self.pool.loop)
            self.handle.move(to: next) { self.joinPool() }
        }
    }

    private func joinPool() {
        guard case .moving(_, let attempt) = phase else { return }
        enter(.ready(step: steps.all.count, attempt))
        rearmClocks()
        if handle.mayBegin { advance() }
    }

    func placeGranted() -> Bool {
        guard case .queued(let attempt) = phase else { return false }
        guard handle.mayBegin else {
            enter(.ready(step: steps.all.count, attempt))
            return false
        }
        enter(.encoding)
        complete()
        return true
    }

    /// Makes the steps complete the request, which has its place.
    private func complete() {
        if let request, steps.complete(self) { launch(request) }
    }

    /// Called when the step that had to wait has what it needs.
    func completeAfterWaiting() {
        complete()
        // The task may have been suspended meanwhile.
        run()
    }

    // MARK: - A transfer

    private func launch(_ request: URLRequest) {
        do throws(URLError) {
            begin(try RequestLauncher(self).makeTransfer(for: request), of: nil)
        } catch {
            finish(.failure(error))
        }
    }

    /// - Parameter step: The step that supplied the transfer; nil for none.
    func begin(_ transfer: any Transfer, of step: Int?) {
        enter(.transferring(Phase.Transferring(transfer, of: step)))
        hops.begin(request, transfer, isMeasured: handle.isMeasured)
        do throws(URLError) {
            try transfer.start()
        } catch {
            return finish(.failure(error))
        }
        rearmClocks()
    }

    // MARK: - The state changed by steps and transfers

    func replaceRequest(_ request: URLRequest) {
        let request = HeaderRules.withoutDoubles(request)
        self.request = request
        handle.showRequest(request, isBodyKept: handle.body.isKept(by: request, after: steps.redirect))
    }

    // MARK: - Time

    /// The clocks start when the task is first resumed; a begin date delays them.
    private func setResourceClock(isRunning: Bool) {
        if !clocks.haveStarted { clocks.start(handle.resourceTimeout) { [unowned self] in checkClocks() } }
        clocks.setRunning(isRunning && !steps.arePutOff, self)
    }

    func restartIdleClock() { phase.transfer?.noteActivity() }

    func rearmClocks() {
        // The begin date may have been reached.
        if steps.beginDate != nil, let runs = runsResourceClock { clocks.setRunning(runs, self) }
        clocks.arm(self)
    }

    // MARK: - The end

    /// Ends the task with `outcome`, of which only the first counts, and stops everything still running.
    func finish(_ outcome: Outcome) {
        pool.loop.preconditionOnLoop()
        let isSuccess = outcome.error == nil
        guard let discarded = handle.shared.withLock({ $0.finish(isSuccess: isSuccess) }) else { return }
        handle.drop(discarded)
        guard case .failure(let error) = outcome else { return tearDown(outcome) }
        place.noteFailure()
        tearDown(.failure(error.with(phase: phase.transferPhase)))
    }

    private func finish(cancelledBy cancellation: TaskStateMachine.Cancellation) {
        handle.drop(handle.shared.withLock { $0.mailbox.discard() })
        tearDown(.failure(.cancelled(request?.url)), keepsPartialFile: cancellation.keepsPartialFile)
    }

    /// Frees the task's resources on the loop, and concludes the task. Called once per task.
    private func tearDown(_ outcome: Outcome, keepsPartialFile: Bool = true) {
        if let transfer = phase.transfer {
            transfer.cancel()
            hops.end(transfer)
        }
        enter(.ended)
        steps.stop(self)
        clocks.stop(on: pool.loop)
        TaskConclusion(self, isResumable: keepsPartialFile).begin(with: outcome)
        place.leave()
    }
}

extension Loader: ClocksOwner {
    var loop: EventLoop { pool.loop }
    var runsResourceClock: Bool? {
        phase.hasWholeResponse || steps.arePutOff ? false : handle.shared.withLock { $0.machine.runsResourceClock }
    }

    func idleEnd(after lastAnswer: MonotonicTime?) -> MonotonicTime? {
        guard let transfer = phase.transfer, let lastActivity = transfer.lastActivity, let request,
            !transfer.isPaused, transferMayDeliver(transfer)
        else { return nil }
        return max(lastActivity, lastAnswer ?? lastActivity) + session.settings.idleTimeout(for: request)
    }

    private func checkClocks() {
        switch clocks.check(self) {
        case .none: break
        case .idle: idleTimeIsUp()
        case .resource:
            // Questions still unanswered by the delegate don't delay the end.
            handle.drop(handle.shared.withLock { $0.mailbox.giveUpAnswer() })
            // If the task had no connection, the error says why.
            finish(.failure(.resourceTimeOut(request?.url, steps.connectivity.cause(in: phase.transferPhase))))
        }
    }

    private func idleTimeIsUp() {
        clocks.lastAnswer = handle.lastAnswer(at: loop.now)
        guard let end = idleEnd(after: clocks.lastAnswer), end <= loop.now, let transfer = phase.transfer, let request,
            !transfer.restartIdleClockIfMoved()
        else { return rearmClocks() }
        transfer.timedOut()
        let error = URLError.idleTimeOut(request.url)
        let ending = TransferEnding(error.with(phase: transfer.phase), isOfNetwork: transfer.isOfNetwork)
        guard let (verdict, step) = steps.timeOut(ending, of: request, self) else { return finish(.failure(error)) }
        transfer.cancel()
        hops.end(transfer)
        enter(.deciding)
        act(on: verdict, about: ending, by: step)
    }
}
