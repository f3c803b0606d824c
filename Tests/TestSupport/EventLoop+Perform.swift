import CurlTransport

extension EventLoop {
    /// Runs `body` on the loop, after all that was submitted before it, and returns what it returns.
    @discardableResult
    package func perform<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
