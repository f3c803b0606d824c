import CurlNetworkingLocks
import Foundation

/// The values that the program sets on a task without a session. Any thread.
final class SessionlessTask: Sendable {
    /// Never advances.
    let progress = Progress(parent: nil, userInfo: nil)
    private let state = Mutex(State())

    private struct State {
        var settings = TaskSettings()
        var delegate: (any URLSessionTaskDelegate)?
        var maximumMessageSize = WebSocketExchange.defaultMaximumMessageSize
    }

    var settings: TaskSettings { state.withLock { $0.settings } }

    func changeSettings(_ change: (inout TaskSettings) -> Void) {
        state.withLock { change(&$0.settings) }
    }

    var delegate: (any URLSessionTaskDelegate)? {
        get { state.withLock { $0.delegate } }
        set {
            let old = state.withLock { state in
                defer { state.delegate = newValue }
                return state.delegate
            }
            // The program's object is released outside the lock.
            withExtendedLifetime(old) {}
        }
    }

    /// For web sockets.
    var maximumMessageSize: Int {
        get { state.withLock { $0.maximumMessageSize } }
        set { state.withLock { $0.maximumMessageSize = newValue } }
    }
}
