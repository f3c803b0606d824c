import Dispatch
import Foundation

/// How far a background session's task has got in its agent.
enum AgentTaskPhase {
    /// Nothing is being transferred or will be: the task is suspended.
    case idle
    /// The program's partial file is being moved to the session's folder. The first attempt waits for that, and so does a cancellation.
    case takingOver
    case running(AgentAttempt)
    /// The network has failed; the next attempt begins at this time.
    case retrying(until: DispatchTime)
    /// The response is complete and recorded: another agent would find it. The program is told once its file is on disk.
    case syncing
    /// An unrecorded end is one that the program hasn't taken yet, or that couldn't be written so far.
    case ended(isRecorded: Bool)

    var isEnd: Bool { if case .ended = self { true } else { false } }

    /// Whether the agent has to stay for the task.
    func needsAgent(isSuspended: Bool) -> Bool {
        switch self {
        case .idle, .running, .retrying: !isSuspended
        case .takingOver, .syncing: true
        case .ended(let isRecorded): !isRecorded
        }
    }

    /// For the command that lists tasks.
    func text(isSuspended: Bool, hasFailed: Bool) -> String {
        switch self {
        case .idle: "suspended"
        case .running, .syncing: isSuspended ? "suspended" : "running"
        case .takingOver, .retrying: isSuspended ? "suspended" : "waiting"
        case .ended: hasFailed ? "failed" : "finished"
        }
    }
}
