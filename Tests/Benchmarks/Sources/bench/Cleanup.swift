import Foundation
import Synchronization

/// What must not outlive the benchmark: nginx, the running children, the temporary files. Undone in reverse order at the
/// end, after an error, and on SIGINT, SIGTERM and SIGHUP.
final class Cleanup: Sendable {
    static let shared = Cleanup()

    private struct State {
        var actions: [(number: Int, action: @Sendable () -> Void)] = []
        var nextNumber = 0

        mutating func run() {
            while let (_, action) = actions.popLast() {
                action()
            }
        }
    }

    /// Locked while the actions run: whoever else wants to clean up or to start something then waits.
    private let state = Mutex(State())

    /// Registers an action and returns the number with which it can be withdrawn.
    @discardableResult
    func add(_ action: @escaping @Sendable () -> Void) -> Int {
        state.withLock {
            $0.nextNumber += 1
            $0.actions.append(($0.nextNumber, action))
            return $0.nextNumber
        }
    }

    func withdraw(_ number: Int) {
        state.withLock { $0.actions.removeAll { $0.number == number } }
    }

    func run() {
        state.withLock { $0.run() }
    }

    /// Ends the process after a clean-up when one of the signals arrives, for as long as the result is kept.
    func runOnSignals() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [self] in
                // Ends inside the lock: the main thread, which finds its children dead, gets no further than `run`.
                state.withLock {
                    $0.run()
                    _exit(128 + number)
                }
            }
            source.activate()
            return source
        }
    }
}
