import Foundation
import FoundationNetworking

/// The stock module's side of a load: its task, session and client. Any thread.
///
/// `@unchecked Sendable`: nothing changes, and the stock module's objects may be used from any thread, except the client.
final class Stock: @unchecked Sendable {
    let task: FoundationNetworking.URLSessionTask
    let session: FoundationNetworking.URLSession
    let sink: StockSink
    /// The delegate that the task or its session had when the task was started, as long as they keep it. Read only at that point: a session
    /// changes its property on its delegate queue.
    private(set) weak var delegate: (any FoundationNetworking.URLSessionTaskDelegate)?
    /// The session's own serial queue. The client is called only there: it looks the task up in the session's list, which no lock guards.
    /// So a cancellation, which waits for that queue, finds the task either ended or not.
    private let workQueue: DispatchQueue
    /// Retained by the stock task while it runs.
    private weak var stockProtocol: CurlURLProtocol?

    /// Called on the work queue, where the stock module starts protocols. nil if the task, its session, that queue or the task's sink can't
    /// be found.
    init?(_ stockProtocol: CurlURLProtocol) {
        guard let task = stockProtocol.task, let session = task.stockSession, let workQueue = session.stockWorkQueue,
            let sink = session.stockSink(of: task)
        else { return nil }
        self.task = task
        self.session = session
        self.sink = sink
        self.workQueue = workQueue
        self.stockProtocol = stockProtocol
        delegate =
            switch sink {
            case .handler(let own?): own
            case .handler(nil), .delegate:
                task.delegate ?? session.delegate as? any FoundationNetworking.URLSessionTaskDelegate
            }
    }

    /// Calls `action` with the delegate, on the session's delegate queue and after everything the client was told earlier, or `orElse` at
    /// once if there is none.
    func ask(
        _ action:
            @escaping @Sendable (
                Stock, FoundationNetworking.URLSession, any FoundationNetworking.URLSessionTaskDelegate
            )
            -> Void,
        orElse: () -> Void = {}
    ) {
        guard let delegate else { return orElse() }
        workQueue.async {
            self.session.delegateQueue.addOperation { action(self, self.session, delegate) }
        }
    }

    // MARK: - Messages to the client

    func received(_ response: URLResponse) {
        let response = Refusal(response) ?? response
        // Our session has cached it, if allowed.
        tell { $1.urlProtocol($0, didReceive: response, cacheStoragePolicy: .notAllowed) }
    }

    func received(_ data: Data) {
        tell { $1.urlProtocol($0, didLoad: data) }
    }

    func finish() {
        tell { stockProtocol, client in
            guard let refusal = self.task.response as? Refusal else {
                return client.urlProtocolDidFinishLoading(stockProtocol)
            }
            refusal.withoutURL { client.urlProtocolDidFinishLoading(stockProtocol) }
        }
    }

    func fail(_ error: any Error) {
        tell { $1.urlProtocol($0, didFailWithError: error) }
    }

    /// Calls `body` on the work queue without waiting for it, unless the task has ended by then.
    private func tell(
        _ body: @escaping @Sendable (CurlURLProtocol, any FoundationNetworking.URLProtocolClient) -> Void
    ) {
        workQueue.async {
            guard let stockProtocol = self.stockProtocol, let client = stockProtocol.client else { return }
            body(stockProtocol, client)
        }
    }
}

extension URLError {
    init(_ code: URLError.Code, url: URL?, _ description: String) {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: description]
        userInfo[NSURLErrorFailingURLErrorKey] = url
        self.init(code, userInfo: userInfo)
    }
}
