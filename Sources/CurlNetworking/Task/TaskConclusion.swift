import Foundation

/// What follows the last phase of a task: its sink and its steps settle what they still hold, one after the other, and then its handle gets
/// the outcome. Loop only.
struct TaskConclusion {
    private let loader: Loader
    /// Whether a partial file or an upload's beginning is kept for another task.
    private let isResumable: Bool

    init(_ loader: Loader, isResumable: Bool) {
        self.loader = loader
        self.isResumable = isResumable
    }

    func begin(with outcome: Outcome) {
        guard case .failure(let error) = outcome else { return settleSteps(outcome, nil) }
        loader.sink.abandon(after: error, isKept: isResumable) { data in
            settleSteps(.failure(data.map(error.with(resumeData:)) ?? error), data)
        }
    }

    private func settleSteps(_ outcome: Outcome, _ resumeData: Data?) {
        loader.steps.settle(outcome, isResumable: isResumable, resumeData: resumeData, loader, report)
    }

    private func report(_ outcome: Outcome, _ resumeData: Data?) {
        let handle = loader.handle
        let metrics =
            handle.isMeasured ? loader.hops.finish(for: handle, redirectCount: loader.redirectCount) : nil
        handle.endWork()
        handle.send(outcome, resumeData: resumeData, metrics: metrics)
    }
}
