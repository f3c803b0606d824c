import CurlTransport
import Foundation

/// One thing that may happen between a request and its response. A step owns the state of its concern, and is asked at fixed points;
/// what it answers is a value. Loop only; `Steps` has the order.
protocol Step: AnyObject, Sendable {
    /// Before the request waits for a place at its host. After `.wait` it is asked again.
    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict

    /// The request has its place, and is about to be encoded. After `.wait` it is asked again.
    func complete(_ host: any StepHost) -> CompletionVerdict

    /// The request is encoded. Throws where it can't go out.
    func encode(_ plan: inout TransferPlan, _ host: any StepHost) throws(URLError)

    /// The head of the response has come. Within libcurl.
    func receive(_ received: ReceivedHead, _ host: any StepHost) throws(URLError) -> HeadVerdict

    /// The response is the task's own, and its body goes to `sink`: that, or one around it. Within libcurl.
    func accept(_ response: AcceptedResponse, into sink: any Sink, _ host: any StepHost) -> any Sink

    /// The transfer is over, and the response was the task's own where it has succeeded.
    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict

    /// The task is over: the step asks nobody any more, and waits for nobody.
    func stop(_ host: any StepHost)
}

extension Step {
    func prepare(_ attempt: RequestAttempt, _ host: any StepHost) -> RequestVerdict { .pass }
    func complete(_ host: any StepHost) -> CompletionVerdict { .pass }
    func encode(_ plan: inout TransferPlan, _ host: any StepHost) throws(URLError) {}
    func receive(_ received: ReceivedHead, _ host: any StepHost) throws(URLError) -> HeadVerdict { .pass }
    func accept(_ response: AcceptedResponse, into sink: any Sink, _ host: any StepHost) -> any Sink { sink }
    func end(_ ending: TransferEnding, of request: URLRequest, _ host: any StepHost) -> EndVerdict { .pass }
    func stop(_ host: any StepHost) {}
}

/// Whether the steps have seen the request before.
enum RequestAttempt {
    case first
    /// They have, and nothing of it was sent.
    case repeated
}

/// What a step says of a request.
enum RequestVerdict {
    /// The next step is asked.
    case pass
    /// The step finds something out, and calls `StepHost.proceed(_:)` then.
    case wait
    /// The response comes from here.
    case load(any Transfer)
    case fail(URLError)
}

/// What a step says when the request is about to be encoded.
enum CompletionVerdict {
    case pass
    case wait
}

/// What a step says of a response.
enum HeadVerdict {
    /// The next step is asked; after the last, the response is the task's own.
    case pass
    /// The response is kept back until the step calls `StepHost.release(_:_:)`.
    case hold(HeldResponse)
    /// This request goes out next; the response is dropped.
    case follow(URLRequest)
    /// The response is dropped, and the task's own comes from here.
    case load(any Transfer)
    /// The response is the task's own.
    case deliver(Placement)

    /// Where a response's body belongs.
    struct Placement {
        /// The head to show instead of the one that has come.
        var head: ResponseHead?
        /// How much is there already, in bytes.
        var offset: Int64 = 0
        /// The length of the whole, or `NSURLSessionTransferSizeUnknown`; nil for what the head says.
        var expected: Int64?
        /// Nothing is missing: what follows is dropped.
        var isComplete = false
    }
}

/// What a step says of a transfer that is over.
enum EndVerdict {
    /// The next step is asked; after the last, the task ends as the transfer did.
    case pass
    /// After a failure: the same request goes out again once the step calls `StepHost.proceed(_:)`. After a success: the task's end
    /// waits for that.
    case wait
    /// The same request goes out again: nothing of it was sent.
    case again
    /// The failure is kept back until the step calls `StepHost.release(_:_:)`.
    case hold(HeldResponse)
    case follow(URLRequest)
    case load(any Transfer)
    case fail(URLError)
}

/// A response, or a failure, that is kept back until somebody decides. Its identity is what an answer names.
///
/// `@unchecked Sendable`: never changes.
final class HeldResponse: @unchecked Sendable {}

/// What a step knows of its task's work, and asks of the loader that does it. On the loop.
protocol StepHost: TransferDelegate, Sendable {
    var owner: any StepOwner { get }
    var session: SessionCore { get }
    /// The connection pool that the task is on.
    var pool: ConnectionPool { get }
    /// The current request.
    var request: URLRequest? { get }
    var steps: Steps { get }
    var sink: any Sink { get }
    /// The place at the current request's host; nil without one.
    var ticket: Admission.Ticket? { get }
    var budget: TaskBudget { get set }
    var isOver: Bool { get }

    /// The current request is this one instead.
    func replaceRequest(_ request: URLRequest)
    /// The step that has said `.wait` goes on.
    func proceed(_ step: any Step)
    /// The step that has said `.hold` has decided. Nothing happens where the response isn't held any more.
    func release(_ held: HeldResponse, _ verdict: HeadVerdict)
    /// The step that has said `.load` has no use for the transfer: the steps after it go on.
    func decline(_ step: any Step)
    /// The transfer that the step has brought has reported a redirect, and is over.
    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse, _ step: any Step)
    func fail(_ error: URLError)
    /// Has the server asked, beside the task, whether the stored response to the current request still holds (RFC 5861 §3). False where it
    /// can't be.
    func revalidatesInBackground() -> Bool
    /// The idle clock may have begun or ended.
    func rearmClocks()
}

/// What a step knows of the task itself, and asks of it. Any thread, but for what says otherwise.
protocol StepOwner: AnyObject, Sendable {
    var originalRequest: URLRequest? { get }
    var body: TaskBody { get }
    /// The public object; nil when the task is over.
    var task: URLSessionTask? { get }
    /// The task's delegate where it has one, else the session's, for each protocol.
    var delegates: DelegateSet { get }
    /// The task's own delegate alone.
    var ownDelegates: DelegateSet { get }
    /// Whether a delegate is to hear what happens to the task, whoever gets its result.
    var isWatched: Bool { get }
    /// Whether the delegate gets the task's result.
    var tellsDelegateOfResult: Bool { get }
    /// The response that is shown at the moment.
    var shownResponse: URLResponse? { get }
    var earliestBeginDate: Date? { get }
    /// Whether the task is suspended; also where the loop has yet to see it.
    var isSuspended: Bool { get }
    var isCancelled: Bool { get }

    /// Loop.
    func ask(_ question: TaskQuestion)
    /// Loop.
    func tell(_ event: TaskEvent)
    /// Has `body` run on the task's loop, whichever that is by then.
    func submit(_ body: @escaping @Sendable () -> Void)
    func cancel()
    /// Nothing is delivered until `releaseDelivery()`. Loop.
    func holdDelivery()
    /// Loop.
    func releaseDelivery()
}

extension StepHost {
    /// The way to the current request's host.
    var route: ProxyRoute { ticket.map { pool.route(for: $0) } ?? .direct }

    /// How many redirects the task has followed.
    var redirectCount: Int { steps.redirect.count }

    /// The origin that the task's own request is for, over https where its host wants that.
    var originalOrigin: Origin? {
        guard let url = owner.originalRequest?.url else { return nil }
        let secured = (try? session.settings.transportSecurity?.secured(url)) ?? nil
        return Origin(secured ?? url)
    }
}
