import Foundation
import FoundationNetworking

/// The stock module's side of a load: its task, its session, and the client that it wants to be told through. Any thread.
///
/// `@unchecked Sendable`: nothing in it changes, and the stock module's objects are safe to use from any thread.
final class Stock: @unchecked Sendable {
    let task: FoundationNetworking.URLSessionTask
    let session: FoundationNetworking.URLSession
    /// The stock task keeps it for as long as it runs.
    private weak var stockProtocol: CurlURLProtocol?

    init?(_ stockProtocol: CurlURLProtocol) {
        guard let task = stockProtocol.task, let session = task.stockSession else { return nil }
        self.task = task
        self.session = session
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
        guard let delegate = task.delegate ?? session.delegate as? any FoundationNetworking.URLSessionTaskDelegate
        else {
            return orElse()
        }
        session.delegateQueue.addOperation { action(self, self.session, delegate) }
    }

    // MARK: - What the client is told

    func received(_ response: URLResponse) {
        // The transport has cached it, where it may be.
        tell { $1.urlProtocol($0, didReceive: response, cacheStoragePolicy: .notAllowed) }
    }

    func received(_ data: Data) {
        tell { $1.urlProtocol($0, didLoad: data) }
    }

    func finish() {
        tell { $1.urlProtocolDidFinishLoading($0) }
    }

    func finish(with file: URL) {
        tell { stockProtocol, client in
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
            client.urlProtocolDidFinishLoading(stockProtocol)
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
    init(_ code: URLError.Code, _ description: String) {
        self.init(code, userInfo: [NSLocalizedDescriptionKey: description])
    }
}
