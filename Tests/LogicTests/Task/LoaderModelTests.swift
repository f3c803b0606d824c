import CurlNetworkingLocks
import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

/// Whatever steps, transfers and owners do, and in whichever order: a task never traps, never ends twice and never hangs. The loader runs
/// on its event loop, without a socket.
@Suite("A loader under random events", .timeLimit(.minutes(2)))
struct LoaderModelTests {
    @Test("A loader under random events ends exactly once, and lets go of everything", arguments: 0..<40)
    func randomEvents(block: UInt64) async throws {
        for seed in block * 10..<block * 10 + 10 {
            let model = try LoaderModel(seed)
            for _ in 0..<50 { await model.onLoop { $0.event() } }
            await model.onLoop { $0.isDraining = true }
            for _ in 0..<100 where await !model.isOver { await model.onLoop { $0.goOn() } }
            #expect(await model.isOver, "hangs with seed \(seed)")
            model.task.cancel()
            await model.completion()
            let remains = await model.remains
            #expect(remains == LoaderModel.Remains(), "seed \(seed)")
        }
    }

    /// `enter` traps in debug builds; this is what it does in others.
    @Test("Phases that can't follow each other end the task, and the transfer that is lost")
    func unlistedPhases() async throws {
        let model = try LoaderModel(0)
        await model.onLoop {
            $0.isDraining = true
            $0.task.resume()
        }
        await model.onLoop { $0.enterUnlistedPhase() }
        await model.completion()
        let remains = await model.remains
        #expect(remains == LoaderModel.Remains())
        #expect((model.task.error as? URLError)?.code == .unknown)
    }

    @Test("A transfer whose response is held is paused, and its idle clock stands still, until the decision")
    func held() async throws {
        let model = try LoaderModel(0)
        await model.onLoop {
            $0.isDraining = true
            $0.task.resume()
        }
        let moments = await model.onLoop { $0.holdAndRelease() }
        let flowing = LoaderModel.Moment(isPaused: false, mayTimeOut: true)
        let held = LoaderModel.Moment(isPaused: true, mayTimeOut: false)
        #expect(moments == [flowing, held, flowing])
        model.task.cancel()
        await model.completion()
    }
}

/// A task whose only step and transfers do what a generator says.
///
/// `@unchecked Sendable`: everything but the counters is touched on the loop alone.
private final class LoaderModel: @unchecked Sendable {
    /// What is left of a task that is over.
    struct Remains: Equatable {
        var completions = 1
        var stops = 1
        var transfers = 0
        var hasLoader = false
    }

    let task: URLSessionDataTask
    private let handle: TaskHandle
    private let core: SessionCore
    private let step: ScriptedStep
    private let completions = Mutex((count: 0, waiter: CheckedContinuation<Void, Never>?.none))
    private var generator: SeededGenerator
    var isDraining = false
    private var transfers: [ScriptedTransfer] = []

    init(_ seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        core = SessionCore(
            .ephemeral,
            settings: Sample.settings { $0.httpCookieStorage = nil },
            delegate: nil,
            delegateQueue: OperationQueue()
        )
        step = ScriptedStep()
        let completed = Mutex<(@Sendable () -> Void)?>(nil)
        let (script, request) = (step, try Sample.request())
        handle = TaskHandle(
            identifier: core.makeTaskIdentifier(),
            session: core,
            request: request,
            consumer: .dataHandler { _, _, _ in completed.withLock { $0 }?() },
            makeSteps: { _, _ in Steps([script]) }
        )
        task = URLSessionDataTask(engine: handle)
        step.model = self
        completed.withLock { $0 = { [unowned self] in noteCompletion() } }
    }

    private func noteCompletion() {
        let waiter = completions.withLock { completions in
            completions.count += 1
            return completions.waiter.take()
        }
        waiter?.resume()
    }

    func completion() async {
        await withCheckedContinuation { continuation in
            let isThere = completions.withLock { completions in
                if completions.count == 0 { completions.waiter = continuation }
                return completions.count > 0
            }
            if isThere { continuation.resume() }
        }
    }

    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (LoaderModel) -> Result) async -> Result {
        await handle.loop.perform { body(self) }
    }

    var isOver: Bool {
        get async {
            await onLoop {
                $0.handle.shared.withLock { $0.machine.stage == .completed || $0.machine.stage == .finished }
            }
        }
    }

    var remains: Remains {
        get async {
            await onLoop { model in
                Remains(
                    completions: model.completions.withLock { $0.count },
                    stops: model.step.stops,
                    transfers: model.transfers.filter(\.isAlive).count,
                    hasLoader: model.handle.loader != nil
                )
            }
        }
    }

    // MARK: - Events, on the loop

    func event() {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0..<4: task.resume()
        case 4: task.suspend()
        case 5: if generator.chance(15) { task.cancel() }
        case 6: handle.consumerCaughtUp()
        case 7..<9: step.goOn(following: generator.chance(50))
        default:
            let number = Int.random(in: 0..<6, using: &generator)
            transfers.last(where: \.isAlive)?.report(number)
        }
    }

    /// Nothing new happens, and what is pending comes to its end.
    func goOn() {
        task.resume()
        step.goOn(following: generator.chance(50))
        transfers.last(where: \.isAlive)?.finish()
    }

    /// A transfer is running, and the loader loses it.
    func enterUnlistedPhase() {
        #expect(transfers.last?.isAlive == true)
        handle.loader?.fail(entering: .storing(step: 0), "A transfer is lost.")
    }

    struct Moment: Equatable {
        var isPaused: Bool
        var mayTimeOut: Bool
    }

    /// What is true of a transfer before a response of it is held, meanwhile, and afterwards.
    func holdAndRelease() -> [Moment] {
        guard let loader = handle.loader, case .transferring(let transferring) = loader.phase else { return [] }
        func moment() -> Moment {
            Moment(isPaused: transferring.transfer.isPaused, mayTimeOut: loader.idleEnd(after: nil) != nil)
        }
        var moments = [moment()]
        let held = HoldToken()
        let content = Phase.Holding.Content.head(ScriptedTransfer.head, transferring, step: 0, ending: nil)
        loader.enter(.held(Phase.Holding(held, content)))
        loader.run()
        moments.append(moment())
        loader.release(held, .pass)
        moments.append(moment())
        return moments
    }

    // MARK: - What the script says

    func requestVerdict() -> RequestVerdict {
        switch isDraining ? 9 : Int.random(in: 0..<12, using: &generator) {
        case 0..<3: return .wait
        case 3 where generator.chance(20): return .fail(URLError(.badURL))
        default: return .load(makeTransfer())
        }
    }

    func headVerdict() throws(URLError) -> HeadVerdict {
        switch isDraining ? 9 : Int.random(in: 0..<12, using: &generator) {
        case 0..<3: return .hold(step.hold())
        case 3: return .follow(URLRequest(url: URL(fileURLWithPath: "/next")))
        case 4: return .load(makeTransfer())
        case 5: return .deliver(HeadVerdict.Placement(expected: 3, isComplete: generator.chance(50)))
        case 6 where generator.chance(20): throw URLError(.badServerResponse)
        default: return .pass
        }
    }

    func endVerdict() -> EndVerdict {
        switch isDraining ? 9 : Int.random(in: 0..<12, using: &generator) {
        case 0, 1: return .wait
        case 2: return .again
        case 3: return .hold(step.hold())
        case 4: return .follow(URLRequest(url: URL(fileURLWithPath: "/next")))
        case 5: return .load(makeTransfer())
        case 6 where generator.chance(20): return .fail(URLError(.badServerResponse))
        default: return .pass
        }
    }

    private func makeTransfer() -> ScriptedTransfer {
        let transfer = ScriptedTransfer(self)
        transfers.append(transfer)
        return transfer
    }

    func chance(_ percent: Int) -> Bool { !isDraining && generator.chance(percent) }
}

/// `@unchecked Sendable`: loop only.
private final class ScriptedStep: Step, @unchecked Sendable {
    weak var model: LoaderModel?
    private var held: HoldToken?
    private(set) var stops = 0
    private weak var context: (any StepContext)?

    func hold() -> HoldToken {
        let response = HoldToken()
        held = response
        return response
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict {
        self.context = context
        return model?.requestVerdict() ?? .pass
    }

    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict {
        try model?.headVerdict() ?? .pass
    }

    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict {
        model?.endVerdict() ?? .pass
    }

    func stop(_ context: any StepContext) {
        stops += 1
    }

    func goOn(following isFollowing: Bool) {
        context?.proceed(self)
        guard let held = held.take() else { return }
        let next = URLRequest(url: URL(fileURLWithPath: "/next"))
        context?.release(held, isFollowing ? .follow(next) : .pass)
    }
}

/// `@unchecked Sendable`: loop only.
private final class ScriptedTransfer: Transfer, @unchecked Sendable {
    private enum State { case new, running, answered(BodyRoute), over }

    private var state = State.new
    private weak var model: LoaderModel?
    private weak var delegate: (any TransferDelegate)?

    let source = HopMetrics.Source.other
    let lastActivity: MonotonicTime? = .now
    private(set) var isPaused = false

    static var head: ReceivedHead {
        let head = ResponseHead(version: "HTTP/1.1", status: 200, fields: [])
        return ReceivedHead(head: head, request: URLRequest(url: URL(fileURLWithPath: "/")))
    }

    init(_ model: LoaderModel) {
        self.model = model
    }

    /// Whether it has begun, and neither was cancelled nor has ended.
    var isAlive: Bool {
        switch state {
        case .running, .answered: true
        case .new, .over: false
        }
    }

    func start() throws(URLError) {
        if model?.chance(5) ?? false {
            state = .over
            throw URLError(.cannotConnectToHost)
        }
        state = .running
    }

    func setPaused(_ isPaused: Bool) {
        if model?.chance(30) == false { self.isPaused = isPaused }
    }

    func proceed(to route: BodyRoute) {
        if case .answered = state { state = .answered(route) }
    }

    func cancel() {
        state = .over
    }

    func report(_ number: Int) {
        guard let delegate = model?.delegate else { return }
        switch (state, number) {
        case (.new, _), (.over, _): break
        case (.running, 0..<3): answer(delegate)
        case (.answered(.deliver), 0..<3):
            if delegate.transfer(self, received: Data("abc".utf8)) == false { state = .over }
        case (_, 3): delegate.transferSettled(self)
        case (_, 4): end(URLError(.networkConnectionLost), delegate)
        case (.answered(.hold), _), (.answered(.discard), _), (.answered(.deliver), _): end(nil, delegate)
        case (.running, _): end(URLError(.cannotConnectToHost), delegate)
        }
    }

    /// Comes to its end.
    func finish() {
        guard let delegate = model?.delegate else { return }
        if case .running = state { answer(delegate) }
        if isAlive { end(nil, delegate) }
    }

    private func answer(_ delegate: any TransferDelegate) {
        state = .answered(.discard)
        do throws(URLError) {
            let route = try delegate.transfer(self, received: Self.head)
            if isAlive { state = .answered(route) }
            delegate.transferSettled(self)
        } catch {
            end(error, delegate)
        }
    }

    private func end(_ error: URLError?, _ delegate: any TransferDelegate) {
        state = .over
        var ending = TransferEnding(error)
        ending.isOfNetwork = true
        delegate.transferFinished(self, ending)
    }
}

extension LoaderModel {
    fileprivate var delegate: (any TransferDelegate)? { handle.loader }
}
