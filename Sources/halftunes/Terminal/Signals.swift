import Dispatch
import Glibc

/// Receives signals as events, instead of their default actions.
final class Signals {
    /// The signals that ask a program to end: from the keyboard, from other processes, and when the terminal is closed.
    static let endings = [SIGINT, SIGTERM, SIGHUP]

    private let sources: [any DispatchSourceSignal]

    /// Calls `handler` with each of these signals, on a queue, until this object is released. A second request to end takes effect at once.
    /// Returns when none of them has its default action any more.
    init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "halftunes.signals")
        let wishes = Wishes()
        let watched = DispatchGroup()
        sources = numbers.map { number in
            // Dispatch sets the default action aside, the first time that a number is watched; undoing that would lose the signal.
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if Self.endings.contains(number) {
                    if wishes.count > 0 { exit(ExitCode.signal(number)) }
                    wishes.count += 1
                }
                handler(number)
            }
            watched.enter()
            source.setRegistrationHandler { watched.leave() }
            source.resume()
            return source
        }
        watched.wait()
    }

    /// How often the program was asked to end.
    private final class Wishes: @unchecked Sendable {
        // @unchecked: touched only on one queue.
        var count = 0
    }

    deinit {
        for source in sources { source.cancel() }
    }
}
