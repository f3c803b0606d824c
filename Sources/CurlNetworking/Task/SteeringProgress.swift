import Foundation

/// A task's `Progress`, which passes on to the task what it, or a parent, is asked to do: on the caller's thread, in the order of the calls.
/// Foundation's handlers run on several threads, and so in any order; they are left to the program.
///
/// `@unchecked Sendable`: like every `Progress`, see `TaskProgressChanges`.
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

    /// However often it is paused, one `resume()` undoes that.
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
