import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

/// A task and its loader as one step sees them, without a loop: what the step asks for is noted, and what is to run later runs at once.
///
/// `@unchecked Sendable`: used by one test, on its thread.
final class StepRig: StepContext, StepOwner, IndifferentTransferDelegate, @unchecked Sendable {
    let session: SessionCore
    let pool: ConnectionPool
    var originalRequest: URLRequest?
    var request: URLRequest?
    var body: TaskBody
    var steps: Steps
    var sink: any Sink
    var ticket: Admission.Ticket?
    var budget = TaskBudget()
    var delegates = DelegateSet.none
    var ownDelegates = DelegateSet.none
    var isOver = false
    var isWatched = false
    var tellsDelegateOfResult = false
    var shownResponse: TaskResponse?
    var earliestBeginDate: Date?
    var isSuspended = false
    var isCancelled = false
    var isHidden = false
    var task: URLSessionTask?

    // MARK: What the step has asked for

    private(set) var questions: [TaskQuestion] = []
    private(set) var events: [TaskEvent] = []
    private(set) var released: [(HoldToken, HeadVerdict)] = []
    private(set) var proceeded = 0
    private(set) var error: URLError?
    private(set) var wasCancelled = false
    private(set) var holds = 0
    private(set) var uploaded: Int64?
    private(set) var failureToConnect: URLError?
    var deliveryReleased: () -> Void = {}
    /// Called each time the step has what it waited for.
    var whenProceeding: () -> Void = {}
    let sinkOwner = SinkRig()

    init(
        _ request: URLRequest,
        _ body: TaskBody.Source = .request,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        let settings = SessionSettings(configuration)
        session = SessionCore(configuration, settings: settings, delegate: nil, delegateQueue: OperationQueue())
        pool = session.pools.first
        self.request = request
        originalRequest = request
        self.body = TaskBody(body, of: request)
        steps = Steps([])
        sink = MemorySink(sinkOwner)
    }

    var owner: any StepOwner { self }

    /// Gives the task a place at its request's host.
    func enter(_ owner: any AdmissionTicketOwner) throws {
        let origin = try #require(request?.url.flatMap(Origin.init))
        let ticket = Admission.Ticket(origin: origin, owner: owner)
        _ = pool.enter(ticket, priority: 0.5)
        self.ticket = ticket
    }

    /// A plan for the current request as the step completes it.
    func plan(with step: any Step) throws -> TransferPlan {
        let request = try #require(request)
        let plan = try TransferPlan(
            request,
            ticket: ticket,
            body: nil,
            settings: session.settings,
            keepsCredentials: true
        )
        try step.encode(plan, self)
        return plan
    }

    // On the loop, whose time and deadlines steps use, and which other rigs have, too.

    func onLoop<Result>(_ body: () throws -> Result) rethrows -> Result {
        try pool.loop.queue.sync(execute: body)
    }

    func prepare(_ step: any Step, _ attempt: RequestAttempt = .first) -> RequestVerdict {
        onLoop { step.prepare(attempt, self) }
    }

    /// Lets the step prepare the request on another thread, and returns once it has.
    func prepareElsewhere(_ step: any Step) async {
        await withCheckedContinuation { continuation in
            whenProceeding = { continuation.resume() }
            #expect(prepare(step).isWait)
        }
        whenProceeding = {}
    }

    /// The same for a request that has its place.
    func completeElsewhere(_ step: any Step) async {
        await withCheckedContinuation { continuation in
            whenProceeding = { continuation.resume() }
            #expect(!onLoop { step.complete(self) }.isPass)
        }
        whenProceeding = {}
    }

    func stop(_ step: any Step) {
        onLoop { step.stop(self) }
    }

    func received(_ head: ResponseHead) throws -> ReceivedHead {
        ReceivedHead(head: head, request: try #require(request))
    }

    // MARK: - StepContext

    func replaceRequest(_ request: URLRequest) { self.request = request }
    func proceed(_ step: any Step) {
        proceeded += 1
        whenProceeding()
    }
    func release(_ held: HoldToken, _ verdict: HeadVerdict) { released.append((held, verdict)) }
    func decline(_ step: any Step) { proceeded += 1 }
    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse, _ step: any Step) {
        self.request = request
    }
    func fail(_ error: URLError) { self.error = error }
    func noteUploaded(_ length: Int64) { uploaded = length }
    func beginRevalidation() -> Bool { false }
    func rearmClocks() {}
    func stepAside() { if let ticket = ticket.take() { pool.leave(ticket) } }

    // MARK: - StepOwner

    func ask(_ question: TaskQuestion) { questions.append(question) }
    func tell(_ event: TaskEvent) { events.append(event) }
    func show(failureToConnect error: URLError) { failureToConnect = error }
    func submit(_ body: @escaping @Sendable () -> Void) { body() }
    func cancel() { wasCancelled = true }
    func holdDelivery() { holds += 1 }
    func releaseDelivery() {
        holds -= 1
        deliveryReleased()
    }
}

/// What a sink tells, noted; what is to run later runs at once.
///
/// `@unchecked Sendable`: used by one test, on its thread.
final class SinkRig: SinkOwner, @unchecked Sendable {
    private(set) var isBehind = false
    private(set) var error: URLError?
    private(set) var delivered = Data()
    private(set) var counted: Int64 = 0
    /// Whether bytes that are said to be counted were delivered before that.
    private(set) var deliversUncounted = false
    private(set) var asked: [URLResponse] = []
    private(set) var parts: [PartHead] = []
    var wantsCopy = false

    func ask(about response: TaskResponse, dividing sink: DelegateSink?) { asked.append(response.object) }
    func count(_ bytes: Int64, isTold: Bool) { counted += bytes }
    func startedOver() { counted = 0 }
    func deliver(_ bytes: UnsafeRawBufferPointer) { delivered.append(contentsOf: bytes) }
    func deliver(counted bytes: UnsafeRawBufferPointer) {
        delivered.append(contentsOf: bytes)
        if delivered.count > counted { deliversUncounted = true }
    }
    func beginPart(_ head: PartHead) throws(URLError) { parts.append(head) }
    func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream) { delivered.append(contentsOf: bytes) }
    func whenShown(_ action: @escaping () -> Void) { action() }
    func setBehind(_ isBehind: Bool) { self.isBehind = isBehind }
    func sinkFailed(_ error: URLError) { self.error = error }
    func submit(_ body: @escaping @Sendable () -> Void) { body() }
}

final class TicketOwner: AdmissionTicketOwner {
    func admitted(_ ticket: Admission.Ticket) {}
}

extension RequestVerdict {
    var isPass: Bool { if case .pass = self { true } else { false } }
    var isWait: Bool { if case .wait = self { true } else { false } }
    var failure: URLError? { if case .fail(let error) = self { error } else { nil } }
    var transfer: (any Transfer)? { if case .load(let transfer) = self { transfer } else { nil } }
}

extension CompletionVerdict {
    var isPass: Bool { if case .pass = self { true } else { false } }
}

extension HeadVerdict {
    var isPass: Bool { if case .pass = self { true } else { false } }
    var next: URLRequest? { if case .follow(let request) = self { request } else { nil } }
    var held: HoldToken? { if case .hold(let held) = self { held } else { nil } }
    var placement: Placement? { if case .deliver(let placement) = self { placement } else { nil } }
}

extension EndVerdict {
    var isPass: Bool { if case .pass = self { true } else { false } }
    var isWait: Bool { if case .wait = self { true } else { false } }
    var isAgain: Bool { if case .again = self { true } else { false } }
    var next: URLRequest? { if case .follow(let request) = self { request } else { nil } }
    var failure: URLError? { if case .fail(let error) = self { error } else { nil } }
}
