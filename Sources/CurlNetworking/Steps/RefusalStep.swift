import Foundation

/// Fails a task that its session can't do.
final class RefusalStep: Step {
    private let error: URLError

    init(_ error: URLError) {
        self.error = error
    }

    func prepare(_ attempt: RequestAttempt, _ context: any StepContext) -> RequestVerdict { .fail(error) }
}
