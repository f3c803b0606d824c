import Foundation

/// A task's `Progress`, which forwards calls to it or a parent to the task, on the caller's thread and in the order of the calls.
/// Foundation's handlers run on several threads, and so in any order; they are left to the program.
///
/// `@unchecked Sendable`: as for every `Progress`; see `TaskProgressChanges`.
final class SteeringProgress: Progress, @unchecked Sendable {
    private let task: @Sendable () -> URLSessionTask?

    init(of task: @escaping @Sendable () -> URLSessionTask?) {
        self.task = task
        super.init(parent: nil, userInfo: nil)
        isCancellable = true
        isPausable = true
    }

    override func cancel() {
        super.cancel()
        task()?.cancel()
    }

    /// One `resume()` undoes any number of pauses.
    override func pause() {
        let wasPaused = isPaused
        super.pause()
        guard let task = task(), !wasPaused || task.state != .suspended else { return }
        task.suspend()
    }

    override func resume() {
        super.resume()
        task()?.resume()
    }
}
