import Foundation
import FoundationNetworking

/// The stock module's side of a load: its task, its session, and the client that it wants to be told through. Any thread.
///
/// `@unchecked Sendable`: nothing in it changes, and the stock module's objects are safe to use from any thread.
final class Stock: @unchecked Sendable {
    let task: FoundationNetworking.URLSessionTask
    let session: FoundationNetworking.URLSession
    let sink: StockSink
    /// The stock task keeps it for as long as it runs.
    private weak var stockProtocol: CurlURLProtocol?

    /// Called where the stock module starts a protocol, on its queue. nil where the task, its session or its sink can't be told.
    init?(_ stockProtocol: CurlURLProtocol) {
        guard let task = stockProtocol.task, let session = task.stockSession, let sink = session.stockSink(of: task)
        else { return nil }
        self.task = task
        self.session = session
        self.sink = sink
        self.stockProtocol = stockProtocol
    }

    /// Does `action` with the delegate of the task or its session, on the session's delegate queue; `orElse` where there is none.
    func ask(
        _ action:
            @escaping @Sendable (
                Stock, FoundationNetworking.URLSession, any FoundationNetworking.URLSessionTaskDelegate
            )
            -> Void,
        orElse: () -> Void = {}
    ) {
        let delegate =
            switch sink {
            case .handler(let own?): own
            case .handler(nil), .delegate:
                task.delegate ?? session.delegate as? any FoundationNetworking.URLSessionTaskDelegate
            }
        guard let delegate else { return orElse() }
        session.delegateQueue.addOperation { action(self, self.session, delegate) }
    }

    // MARK: - What the client is told

    func received(_ response: URLResponse) {
        let response = Refusal(response) ?? response
        // The transport has cached it, where it may be.
        tell { $1.urlProtocol($0, didReceive: response, cacheStoragePolicy: .notAllowed) }
    }

    func received(_ data: Data) {
        tell { $1.urlProtocol($0, didLoad: data) }
    }

    func finish() {
        tell(finish)
    }

    /// Hands over `file`, which is gone once the delegate or handler has returned. An async method's caller keeps it.
    func finish(with file: URL) {
        let isTold = tell { stockProtocol, client in
            guard stockProtocol.setDownloadedFile(file) else {
                try? FileManager.default.removeItem(at: file)
                return client.urlProtocol(
                    stockProtocol,
                    didFailWithError: URLError(
                        .cannotCreateFile,
                        "CurlURLProtocol can't hand over files to this version of FoundationNetworking."
                    )
                )
            }
            finish(stockProtocol, client)
            // Whoever is told of it is told on this queue, and has been put there by now.
            guard task.stockIsAsync == false else { return }
            session.delegateQueue.addBarrierBlock { try? FileManager.default.removeItem(at: file) }
        }
        if !isTold { try? FileManager.default.removeItem(at: file) }
    }

    private func finish(_ stockProtocol: CurlURLProtocol, _ client: any FoundationNetworking.URLProtocolClient) {
        guard let refusal = task.response as? Refusal else { return client.urlProtocolDidFinishLoading(stockProtocol) }
        refusal.withoutURL { client.urlProtocolDidFinishLoading(stockProtocol) }
    }

    func fail(_ error: any Error) {
        tell { $1.urlProtocol($0, didFailWithError: error) }
    }

    /// Returns whether there was anybody to tell.
    @discardableResult
    private func tell(_ body: (CurlURLProtocol, any FoundationNetworking.URLProtocolClient) -> Void) -> Bool {
        guard let stockProtocol, let client = stockProtocol.client else { return false }
        body(stockProtocol, client)
        return true
    }
}

extension URLError {
    init(_ code: URLError.Code, _ description: String) {
        self.init(code, userInfo: [NSLocalizedDescriptionKey: description])
    }
}
