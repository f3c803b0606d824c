import CurlTransport
import Foundation

/// A token for Negotiate that is being made on another thread, where Kerberos servers and name servers can take their time. Loop only.
///
/// `@unchecked Sendable`: used on the loop only.
final class TokenRequest: @unchecked Sendable {
    typealias Outcome = Result<[UInt8], NegotiateToken.Failure>
    /// Makes a token for the host, and calls the completion once, at once or later, on any thread.
    typealias Source = @Sendable (_ host: String, _ completion: @escaping @Sendable (Outcome) -> Void) -> Void

    /// The process's own tickets.
    static let kerberos: Source = { host, completion in
        WorkThreads.blocking.run {
            completion(Result { () throws(NegotiateToken.Failure) in try NegotiateToken.make(for: host) })
        }
    }

    private static let lateness = NegotiateToken.Failure("No Kerberos server or name server has answered in time.")

    private enum State {
        case ready((String?) -> Void)
        case underway((String?) -> Void, Deadline)
        case over
    }

    private let host: String
    private var state: State

    /// - Parameter completion: Called once, with the token as it is sent, or nil if there is none. Not after `stop`.
    init(for origin: Origin, _ completion: @escaping (String?) -> Void) {
        host = origin.certificateHost
        state = .ready(completion)
    }

    /// - Parameter limit: After that, there is none. The library's own limit may be longer, and its thread is then left to it.
    func start(from source: Source, within limit: Duration, _ context: any StepContext) {
        guard case .ready(let completion) = state else { return }
        let deadline = Deadline { [weak self, weak context] in
            guard let self, let context else { return }
            end(.failure(Self.lateness), context)
        }
        state = .underway(completion, deadline)
        context.schedule(deadline, after: limit)
        source(host) { [weak self, weak context] outcome in
            guard let self, let context else { return }
            context.owner.submit { self.end(outcome, context) }
        }
    }

    func stop(_ context: any StepContext) {
        if case .underway(_, let deadline) = state { context.cancel(deadline) }
        state = .over
    }

    private func end(_ outcome: Outcome, _ context: any StepContext) {
        guard case .underway(let completion, _) = state else { return }
        stop(context)
        switch outcome {
        case .success(let token):
            completion(Data(token).base64EncodedString())
        case .failure(let failure):
            trace(failure, context)
            completion(nil)
        }
    }

    /// Programs can't see otherwise why Negotiate isn't used.
    private func trace(_ failure: NegotiateToken.Failure, _ context: any StepContext) {
        guard let queue = context.session.settings.traceQueue, let task = context.owner.task else { return }
        let text = "There is no Kerberos token for HTTP@\(host): \(failure)"
        queue.add(CurlTraceEvent(.text, time: Date(), Data(text.utf8)), about: task)
    }
}
