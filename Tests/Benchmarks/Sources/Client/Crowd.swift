import Foundation

/// Many transfers at once whose bodies are dropped: starts them, and says when each has received its first bytes.
///
/// `@unchecked Sendable` is true because the stored properties change only on the delegate queue, which is serial.
final class Crowd: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    let queue = OperationQueue()
    private let count: Int
    private let goesOn: Bool
    private var withBytes: Set<Int> = []
    private var endings = Tally()
    private var allHaveBytes: CheckedContinuation<Void, Never>?

    /// - Parameter goesOn: Whether another transfer follows each that ends well.
    init(of count: Int, goesOn: Bool = false) {
        (self.count, self.goesOn) = (count, goesOn)
        queue.maxConcurrentOperationCount = 1
    }

    func start(_ url: URL, session: URLSession) async {
        await withCheckedContinuation { continuation in
            queue.addOperation { [self] in
                allHaveBytes = continuation
                for _ in 0..<count {
                    session.dataTask(with: url).resume()
                }
            }
        }
    }

    /// Those that have ended, and weren't to.
    func tally() async -> Tally {
        await withCheckedContinuation { continuation in
            queue.addOperation { [self] in
                continuation.resume(returning: endings)
            }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        hasBytes(dataTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if goesOn, error == nil, let url = task.originalRequest?.url { return session.dataTask(with: url).resume() }
        endings.note(error.map { "\($0)" } ?? "a transfer ended early")
        hasBytes(task)
    }

    private func hasBytes(_ task: URLSessionTask) {
        guard allHaveBytes != nil else { return }
        withBytes.insert(task.taskIdentifier)
        if withBytes.count == count {
            allHaveBytes.take()?.resume()
        }
    }
}
