import CurlTransport
import Foundation

/// The phase of a task's loader: what it is doing or waiting for. Loop only.
///
/// `TaskStateMachine` keeps the owner's intent and the publicly visible state: a task suspended during its preparations stays in its phase,
/// and `Loader` asks the machine before it continues.
enum Phase {
    /// Nothing is pending: step number `step` is asked next or, if there is none left, the request needs a place at its host.
    case ready(step: Int, RequestAttempt)
    /// Step number `step` has answered `.wait`.
    case waiting(step: Int, RequestAttempt)
    /// The request is waiting for its place at its host.
    case queued(RequestAttempt)
    /// The task is moving to the event loop of its next request's origin.
    case moving(to: ConnectionPool, RequestAttempt)
    /// The request has its place, and a step is still looking something up for it.
    case encoding
    /// A transfer is running.
    case transferring(Transferring)
    /// A response is held until its step decides. Indirect, because it is large and rare, and a phase is copied dozens of times per
    /// request.
    indirect case held(Holding)
    /// The transfer is over, and the steps decide what follows.
    case deciding
    /// The body is complete; step number `step` is still storing it.
    case storing(step: Int)
    /// The body is complete, and its sink is finishing with it.
    case finishing
    /// The outcome is final.
    case ended

    struct Transferring {
        let transfer: any Transfer
        /// The step that supplied the transfer; nil for a transfer over a connection.
        let step: Int?
        /// The successor, if the task doesn't end here; the body is then discarded.
        private(set) var next: Succession?

        init(_ transfer: any Transfer, of step: Int?) {
            self.transfer = transfer
            self.step = step
        }

        func followed(by next: Succession) -> Transferring {
            var copy = self
            copy.next = next
            return copy
        }
    }

    struct Holding {
        enum Content {
            /// Its head has arrived, and the transfer holds back the body. `ending` is the transfer's ending, if it was over before the
            /// decision; `step` holds the response.
            case head(ReceivedHead, Transferring, step: Int, ending: TransferEnding?)
            /// A program's protocol class reported a redirect, which stopped it; there is no body.
            case redirect(HTTPURLResponse)
            /// The transfer failed; `step` holds the failure.
            case failure(TransferEnding, step: Int)
        }

        let token: HoldToken
        var content: Content

        init(_ token: HoldToken, _ content: Content) {
            self.token = token
            self.content = content
        }

        fileprivate var transferPhase: TransferPhase {
            switch content {
            case .head(_, let transferring, _, nil): transferring.transfer.phase
            case .head(_, _, _, let ending?), .failure(let ending, _): ending.phase
            case .redirect: .receiving
            }
        }
    }

    enum Succession {
        case request(URLRequest)
        case transfer(any Transfer)
    }

    var transfer: (any Transfer)? {
        switch self {
        case .transferring(let transferring): transferring.transfer
        case .held(let holding):
            if case .head(_, let transferring, _, nil) = holding.content { transferring.transfer } else { nil }
        case .ready, .waiting, .queued, .moving, .encoding, .deciding, .storing, .finishing, .ended: nil
        }
    }

    /// The phase reached by the task's transfer, or by the one that has just ended.
    var transferPhase: TransferPhase {
        switch self {
        case .held(let holding): holding.transferPhase
        case .storing, .finishing: .receiving
        case .ready, .waiting, .queued, .moving, .encoding, .transferring, .deciding, .ended:
            transfer?.phase ?? .preparing
        }
    }

    /// The running transfer, if its server may switch to another protocol.
    var upgrade: UpgradeTransfer? { transfer as? UpgradeTransfer }

    /// Whether the task's whole response has arrived and been decoded, so only local work is left.
    var hasWholeResponse: Bool {
        switch self {
        case .storing, .finishing: true
        case .ready, .waiting, .queued, .moving, .encoding, .transferring, .held, .deciding, .ended: false
        }
    }

    var isHeld: Bool {
        if case .held = self { true } else { false }
    }

    var isEnded: Bool {
        if case .ended = self { true } else { false }
    }
}

extension Phase {
    /// A phase without its associated values.
    enum Kind: CaseIterable {
        case ready, waiting, queued, moving, encoding, transferring, held, deciding, storing, finishing, ended
    }

    var kind: Kind {
        switch self {
        case .ready: .ready
        case .waiting: .waiting
        case .queued: .queued
        case .moving: .moving
        case .encoding: .encoding
        case .transferring: .transferring
        case .held: .held
        case .deciding: .deciding
        case .storing: .storing
        case .finishing: .finishing
        case .ended: .ended
        }
    }

    /// Whether a loader may change from one phase to another. Every phase may end; nothing follows the end.
    static func allows(_ from: Kind, to: Kind) -> Bool {
        switch (from, to) {
        case (.ended, _): false
        case (_, .ended): true
        // The next step, or the same one again.
        case (.ready, .ready), (.ready, .waiting), (.waiting, .ready): true
        // A place at the host: at once, after waiting for it, or on another loop.
        case (.ready, .queued), (.ready, .moving), (.moving, .ready), (.queued, .ready): true
        case (.queued, .encoding), (.encoding, .transferring): true
        // Without a connection there is nothing to wait for.
        case (.ready, .transferring): true
        // A response awaiting a decision, including the refusal of a tunnel.
        case (.transferring, .held), (.held, .transferring), (.held, .held), (.held, .deciding), (.deciding, .held):
            true
        case (.transferring, .deciding), (.transferring, .transferring): true
        // What follows a transfer. A connection attempt that timed out, and a class that declines, are over without an ending.
        case (.deciding, .ready), (.deciding, .waiting), (.deciding, .transferring), (.deciding, .storing): true
        case (.transferring, .ready), (.transferring, .waiting): true
        // The result.
        case (.deciding, .finishing), (.storing, .finishing): true

        case (.ready, .encoding), (.ready, .held), (.ready, .deciding), (.ready, .storing): false
        case (.waiting, .waiting), (.waiting, .queued), (.waiting, .moving), (.waiting, .encoding): false
        case (.waiting, .transferring), (.waiting, .held), (.waiting, .deciding), (.waiting, .storing): false
        case (.queued, .waiting), (.queued, .queued), (.queued, .moving), (.queued, .transferring): false
        case (.queued, .held), (.queued, .deciding), (.queued, .storing): false
        case (.moving, .waiting), (.moving, .queued), (.moving, .moving), (.moving, .encoding): false
        case (.moving, .transferring), (.moving, .held), (.moving, .deciding), (.moving, .storing): false
        case (.encoding, .ready), (.encoding, .waiting), (.encoding, .queued), (.encoding, .moving): false
        case (.encoding, .encoding), (.encoding, .held), (.encoding, .deciding), (.encoding, .storing): false
        case (.transferring, .queued), (.transferring, .moving), (.transferring, .encoding): false
        case (.transferring, .storing): false
        case (.held, .ready), (.held, .waiting), (.held, .queued), (.held, .moving), (.held, .encoding): false
        case (.held, .storing): false
        case (.deciding, .queued), (.deciding, .moving), (.deciding, .encoding), (.deciding, .deciding): false
        case (.storing, .ready), (.storing, .waiting), (.storing, .queued), (.storing, .moving): false
        case (.storing, .encoding), (.storing, .transferring), (.storing, .held), (.storing, .deciding): false
        case (.storing, .storing): false
        case (.ready, .finishing), (.waiting, .finishing), (.queued, .finishing), (.moving, .finishing): false
        case (.encoding, .finishing), (.transferring, .finishing), (.held, .finishing), (.finishing, _): false
        }
    }
}
