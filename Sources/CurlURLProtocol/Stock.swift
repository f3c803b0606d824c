import Foundation
import FoundationNetworking

/// The stock module's side of a load: its task, session and client. Any thread.
///
/// `@unchecked Sendable`: nothing changes, and the stock module's objects may be used from any thread.
final class Stock: @unchecked Sendable {
    let task: FoundationNetworking.URLSessionTask
    let session: FoundationNetworking.URLSession
    let sink: StockSink
    /// Kept by the stock task while it runs.
    private weak var stockProtocol: CurlURLProtocol?

    /// Called on the queue on which the stock module starts protocols. nil if the task, its session or its sink can't be found.
    init?(_ stockProtocol: CurlURLProtocol) {
        guard let task = stockProtocol.task, let session = task.stockSession, let sink = session.stockSink(of: task)
        else { return nil }
        self.task = task
        self.session = session
        self.sink = sink
        self.stockProtocol = stockProtocol
    }

    /// The delegate of the task or its session.
    var delegate: (any FoundationNetworking.URLSessionTaskDelegate)? {
        switch sink {
        case .handler(let own?): own
        case .handler(nil), .delegate:
            task.delegate ?? session.delegate as? any FoundationNetworking.URLSessionTaskDelegate
        }
    }

    /// Calls `action` with the delegate of the task or its session, on the session's delegate queue, or `orElse` at once if there is none.
    func ask(
        _ action:
            @escaping @Sendable (
                Stock, FoundationNetworking.URLSession, any FoundationNetworking.URLSessionTaskDelegate
            )
            -> Void,
        orElse: () -> Void = {}
    ) {
        guard let delegate else { return orElse() }
        session.delegateQueue.addOperation { action(self, self.session, delegate) }
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
            guard let refusal = task.response as? Refusal else {
                return client.urlProtocolDidFinishLoading(stockProtocol)
            }
            refusal.withoutURL { client.urlProtocolDidFinishLoading(stockProtocol) }
        }
    }

    func fail(_ error: any Error) {
        tell { $1.urlProtocol($0, didFailWithError: error) }
    }

    private func tell(_ body: (CurlURLProtocol, any FoundationNetworking.URLProtocolClient) -> Void) {
        guard let stockProtocol, let client = stockProtocol.client else { return }
        body(stockProtocol, client)
    }
}

extension URLError {
    init(_ code: URLError.Code, _ url: URL?, _ description: String) {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: description]
        userInfo[NSURLErrorFailingURLErrorKey] = url
        self.init(code, userInfo: userInfo)
    }
}
