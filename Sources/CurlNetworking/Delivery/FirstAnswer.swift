import CurlNetworkingLocks

/// Passes on the first answer to a question, and drops the others. Any thread.
final class FirstAnswer<Answer>: Sendable {
    private let handler: Mutex<(@Sendable (Answer) -> Void)?>

    init(_ handler: @escaping @Sendable (Answer) -> Void) {
        self.handler = Mutex(handler)
    }

    func give(_ answer: Answer) {
        let handler = handler.withLock { $0.take() }
        handler?(answer)
    }
}
