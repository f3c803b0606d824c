import CurlTransport
import Foundation

/// One concern between a request and its response. A step owns the state of its concern and is called at fixed points; its answers are
/// values. Loop only; `Steps` has the order.
protocol Step: AnyObject, Sendable {
    /// Called before the request waits for a place at its host, and again after `.wait`.
    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict

    /// Called when the request has its place and is about to be encoded, and again after `.wait`.
    func complete(_ context: any StepContext) -> CompletionVerdict

    /// Encodes the step's part of the request. Throws if the request must not be sent.
    func encode(_ plan: TransferPlan, _ context: any StepContext) throws(URLError)

    /// The head of the response has arrived. Within libcurl.
    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict

    /// The response is the task's own. Returns where its body goes: `sink`, or one that wraps it. Within libcurl.
    func accept(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext) -> any Sink

    /// The transfer is over; if it succeeded, the response was the task's own.
    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict

    /// Whether `end` is also called when the transfer's idle time is up, which ends it unless a step makes up for the unresponsive server.
    /// An upload isn't resumed then.
    var handlesTimeOuts: Bool { get }

    /// The task is over: the step must stop asking and waiting.
    func stop(_ context: any StepContext)
}

extension Step {
    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict { .pass }
    func complete(_ context: any StepContext) -> CompletionVerdict { .pass }
    func encode(_ plan: TransferPlan, _ context: any StepContext) throws(URLError) {}
    func receive(_ received: ReceivedHead, _ context: any StepContext) throws(URLError) -> HeadVerdict { .pass }
    func accept(_ response: AcceptedResponse, into sink: any Sink, _ context: any StepContext) -> any Sink { sink }
    func end(_ ending: TransferEnding, of request: URLRequest, _ context: any StepContext) -> EndVerdict { .pass }
    var handlesTimeOuts: Bool { false }
    func stop(_ context: any StepContext) {}
}

/// Whether the steps have seen the request before.
enum RequestAttempt {
    case first
    /// They have, and nothing of it was sent.
    case repeated
}

/// A step's answer about a request.
enum RequestVerdict {
    /// Continue with the next step.
    case pass
    /// The step needs more information, and then calls `StepContext.proceed(_:)`.
    case wait
    /// This transfer supplies the response.
    case load(any Transfer)
    case fail(URLError)
}

/// A step's answer when the request is about to be encoded.
enum CompletionVerdict {
    case pass
    case wait
}

/// A step's answer about a response.
enum HeadVerdict {
    /// Continue with the next step; after the last, the response is the task's own.
    case pass
    /// Hold the response until the step calls `StepContext.release(_:_:)`.
    case hold(HoldToken)
    /// Send this request next; drop the response.
    case follow(URLRequest)
    /// Drop the response; this transfer supplies the task's own.
    case load(any Transfer)
    /// The response is the task's own.
    case deliver(Placement)

    /// Where a response's body belongs within the whole.
    struct Placement {
        /// The head to show instead of the one received.
        var head: ResponseHead?
        /// How much is already there, in bytes.
        var offset: Int64 = 0
        /// The length of the whole, in bytes, or `NSURLSessionTransferSizeUnknown`; nil to go by the head.
        var expected: Int64?
        /// Whether nothing is missing, so that the rest is dropped.
        var isComplete = false
    }
}

/// A step's answer about a finished transfer.
enum EndVerdict {
    /// Continue with the next step; after the last, the task ends as the transfer did.
    case pass
    /// After a failure: the same request is sent again once the step calls `StepContext.proceed(_:)`. After a success: the task's end waits
    /// for that call.
    case wait
    /// Send the same request again: nothing of it was sent.
    case again
    /// Hold the failure until the step calls `StepContext.release(_:_:)`.
    case hold(HoldToken)
    case follow(URLRequest)
    case load(any Transfer)
    case fail(URLError)
}

/// Identifies a response, or a failure, that is held until its step decides.
final class HoldToken: Sendable {
    /// Whether the task keeps its place at the host even if its response is complete: other requests there would only be held for the same
    /// reason.
    let keepsPlace: Bool

    init(keepsPlace: Bool = false) {
        self.keepsPlace = keepsPlace
    }
}

/// What a step can see of its task's work, and request from the loader that does it. On the loop.
protocol StepContext: TransferDelegate, Sendable {
    var owner: any StepOwner { get }
    var session: SessionCore { get }
    /// The task's connection pool.
    var pool: ConnectionPool { get }
    /// The current request.
    var request: URLRequest? { get }
    var steps: Steps { get }
    var sink: any Sink { get }
    /// The place at the current request's host; nil without one.
    var ticket: Admission.Ticket? { get }
    var budget: TaskBudget { get set }
    var isOver: Bool { get }

    /// Makes `request` the current request.
    func replaceRequest(_ request: URLRequest)
    /// Continues after a step's `.wait`.
    func proceed(_ step: any Step)
    /// Delivers the verdict after a step's `.hold`. Does nothing if the response isn't held any more.
    func release(_ held: HoldToken, _ verdict: HeadVerdict)
    /// The step that answered `.load` has no use for the transfer: the steps after it continue.
    func decline(_ step: any Step)
    /// The step's own transfer has reported a redirect, and is over.
    func redirect(to request: URLRequest, from old: URLRequest?, by response: URLResponse, _ step: any Step)
    func fail(_ error: URLError)
    /// The server has all of the task's body, `length` bytes, including what earlier tasks sent.
    func noteUploaded(_ length: Int64)
    /// Asks the server, independently of the task, whether the stored response to the current request is still current (RFC 5861 §3).
    /// Returns false if that isn't possible.
    func beginRevalidation() -> Bool
    /// The idle clock may have started or stopped.
    func rearmClocks()
    /// Gives up the place at the host: a next request there has to wait for another, in the same turn.
    func stepAside()
}

/// What a step can see of the task itself, and request from it. Any thread, unless noted otherwise.
protocol StepOwner: AnyObject, Sendable {
    var originalRequest: URLRequest? { get }
    var body: TaskBody { get }
    /// The public object; nil when the task is over.
    var task: URLSessionTask? { get }
    /// The task's delegate if it has one, else the session's, for each protocol.
    var delegates: DelegateSet { get }
    /// The task's own delegate only.
    var ownDelegates: DelegateSet { get }
    /// Whether a delegate is told what happens to the task, even if a handler or a Swift task gets the result.
    var isWatched: Bool { get }
    /// Whether the delegate gets the task's result.
    var tellsDelegateOfResult: Bool { get }
    /// The response that is currently shown.
    var shownResponse: TaskResponse? { get }
    var earliestBeginDate: Date? { get }
    /// Whether the task is suspended, even if the loop has yet to notice.
    var isSuspended: Bool { get }
    var isCancelled: Bool { get }
    /// Whether it is the session's own task, which isn't listed and works only for the cache.
    var isHidden: Bool { get }

    /// Loop.
    func ask(_ question: TaskQuestion)
    /// Loop.
    func tell(_ event: TaskEvent)
    /// The task waits for its host, which couldn't be reached. Loop.
    func show(failureToConnect error: URLError)
    /// Runs `body` on the task's loop, whichever that is by then.
    func submit(_ body: @escaping @Sendable () -> Void)
    func cancel()
    /// Holds delivery until `releaseDelivery()`. Loop.
    func holdDelivery()
    /// Loop.
    func releaseDelivery()
}

extension StepContext {
    /// Schedules `deadline` on the task's loop, `delay` from now.
    func schedule(_ deadline: Deadline, after delay: Duration) {
        let loop = pool.loop
        loop.schedule(deadline, at: loop.now + delay)
    }

    func cancel(_ deadline: Deadline) {
        pool.loop.cancel(deadline)
    }

    /// The part of the task's body that `request` sends.
    func part(of request: URLRequest) -> BodyPart {
        steps.upload?.part(of: request) ?? .whole
    }

    /// The route to the current request's host.
    var route: ProxyRoute { ticket.map { pool.route(for: $0) } ?? .direct }

    /// Whether a connection to `origin`, which uses TLS, certainly leads there: false if its certificate may have been accepted despite a
    /// problem.
    func isVerified(_ origin: Origin) -> Bool {
        !session.settings.tls.trustsAnyCertificate(origin) && !pool.handshakes.acceptProblems(of: origin)
    }

    /// Whether a connection to `origin`, which uses TLS, may have shown a client certificate.
    func showsIdentity(to origin: Origin) -> Bool {
        session.settings.tls.hasIdentity(origin) || pool.handshakes.showIdentity(to: origin)
    }

    /// How many redirects the task has followed.
    var redirectCount: Int { steps.redirect.count }

    /// Whether the session's own credentials may be sent with `request`: always with the task's own, or the one with which the delegate
    /// began instead; once a redirect or resume data has chosen the destination, only to that of this first request. A URL whose host
    /// requires https stands for the one with https.
    func mayCarrySessionCredentials(_ request: URLRequest) -> Bool {
        guard redirectCount > 0 || steps.upload?.resumption != nil else { return true }
        let first = steps.beginDate?.replacement ?? owner.originalRequest
        guard let own = first?.url, let url = request.url else { return false }
        if RedirectPolicy.isSamePlace(secured(own), secured(url)) { return true }
        // The host may have required https when it named the upload's resource, and that may be forgotten.
        guard let resource = steps.upload?.resumption?.resource, resource.mayBelong(to: own) else { return false }
        return RedirectPolicy.isSamePlace(resource.url, url)
    }

    /// What to do after a response, once `count` redirects have been followed.
    func redirectDecision(for received: ReceivedHead, count: Int) -> RedirectPolicy.Decision {
        RedirectPolicy.decision(for: received.head, to: received.request, count: count) { unixSocket(for: $0) }
    }

    /// The Unix socket through which `url` is loaded; nil for TCP. For a scheme that only a protocol class loads, the one that is set for
    /// all hosts. Strict-Transport-Security changes ports, which host patterns may name.
    func unixSocket(for url: URL) -> CurlOptions.UnixSocket? {
        let names = session.settings.names
        guard let origin = Origin(secured(url)) else { return names.session.unixSocket }
        return names.unixSocket(for: origin)
    }

    private func secured(_ url: URL) -> URL {
        ((try? session.settings.transportSecurity?.secured(url)) ?? nil) ?? url
    }
}
