import Foundation

/// The events of an act of the demo, in order: its own, and whatever ends it early, a signal or a time-out.
struct DemoAct<Event: Sendable>: AsyncSequence {
    enum Element: Sendable {
        case event(Event)
        /// The act is to end. The text is the claim that doesn't hold.
        case interruption(String)
    }

    private let elements: AsyncStream<Element>
    private let continuation: AsyncStream<Element>.Continuation
    private let signals: Signals
    private let limit: Task<Void, any Error>

    init(timeLimit: Duration) {
        let (elements, continuation) = AsyncStream<Element>.makeStream()
        (self.elements, self.continuation) = (elements, continuation)
        signals = Signals(Signals.endings) { _ in continuation.yield(.interruption("it wasn't interrupted")) }
        limit = Task {
            try await Task.sleep(for: timeLimit)
            continuation.yield(.interruption("it took less than \(timeLimit.components.seconds) s"))
        }
    }

    /// Adds an event. Any thread.
    var report: @Sendable (Event) -> Void {
        { [continuation] in continuation.yield(.event($0)) }
    }

    /// Ends the sequence.
    func end() {
        limit.cancel()
        continuation.finish()
    }

    func makeAsyncIterator() -> AsyncStream<Element>.AsyncIterator {
        elements.makeAsyncIterator()
    }
}
