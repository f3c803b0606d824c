import CurlNetworking
import Foundation
import FoundationNetworking
import CurlNetworkingLocks

/// A stock session's task on this module's transport. As a delegate, it is called on the delegate queue of the session below.
final class Load: NSObject, @unchecked Sendable {
    // @unchecked: the variables are used only on that queue, and the rest never changes.
    private let stock: Stock
    private let transfer: CurlNetworking.URLSessionTask
    private var hasShownResponse = false
    /// The body for a completion handler: given several pieces, the stock module would pass on only the last.
    private var body = Data()

    /// nil if the task can't be loaded. The stock module has been told why.
    init?(for stockProtocol: CurlURLProtocol) {
        do throws(URLError) {
            (stock, transfer) = try Self.begin(stockProtocol)
        } catch {
            stockProtocol.client?.urlProtocol(stockProtocol, didFailWithError: error)
            return nil
        }
        super.init()
        transfer.delegate = self
        if let priority = stock.task.stockPriority { transfer.priority = priority }
        transfer.earliestBeginDate = stock.task.stockBeginDate
    }

    private static func begin(
        _ stockProtocol: CurlURLProtocol
    ) throws(URLError) -> (Stock, CurlNetworking.URLSessionTask) {
        let url = stockProtocol.request.url
        if stockProtocol.task is FoundationNetworking.URLSessionDownloadTask {
            throw URLError(
                .cannotCreateFile,
                url: url,
                "CurlURLProtocol loads no download tasks: FoundationNetworking gives protocol classes no way to hand over a "
                    + "file. Use a data task, or CurlNetworking's own URLSession."
            )
        }
        guard let stock = Stock(stockProtocol) else {
            throw URLError(.unknown, url: url, "CurlURLProtocol doesn't know this version of FoundationNetworking.")
        }
        let request = stockProtocol.request.withoutCookies(of: stock.session)
        let session = Sessions.shared.session(below: stock.session)
        guard let transfer = makeTransfer(of: request, for: stock.task, in: session) else {
            throw URLError(
                .unsupportedURL,
                url: url,
                "CurlURLProtocol can't find the upload's body in this version of FoundationNetworking."
            )
        }
        return (stock, transfer)
    }

    /// nil if an upload's body can't be found.
    private static func makeTransfer(
        of request: URLRequest,
        for task: FoundationNetworking.URLSessionTask,
        in session: CurlNetworking.URLSession
    ) -> CurlNetworking.URLSessionTask? {
        guard task is FoundationNetworking.URLSessionUploadTask else { return session.dataTask(with: request) }
        switch task.stockBody {
        case .data(let data): return session.uploadTask(with: request, from: data)
        case .file(let file): return session.uploadTask(with: request, fromFile: file)
        case .stream: return session.uploadTask(withStreamedRequest: request)
        case StockBody.none?: return session.uploadTask(with: request, from: Data())
        case nil: return nil
        }
    }

    func resume() {
        transfer.resume()
    }

    func suspend() {
        transfer.suspend()
    }

    func cancel() {
        transfer.cancel()
    }

    private func show(_ response: URLResponse?) {
        guard !hasShownResponse, let response else { return }
        hasShownResponse = true
        stock.received(response)
    }
}

extension URLRequest {
    /// Without the cookies that a stock session adds when it makes a task: it includes secure ones and those for other paths, and adds them
    /// even if the request shouldn't have any. Our session adds the right ones. They are recognised by name: the storage may have changed
    /// since.
    fileprivate func withoutCookies(of session: FoundationNetworking.URLSession) -> URLRequest {
        let configuration = session.configuration
        guard configuration.httpShouldSetCookies, let url, let field = value(forHTTPHeaderField: "Cookie"),
            let cookies = configuration.httpCookieStorage?.cookies(for: url), !cookies.isEmpty
        else { return self }
        let names = Set(cookies.map(\.name))
        let others = CookieField.pairs(of: field[...]).filter { !names.contains(String(CookieField.name($0))) }
        var request = self
        request.setValue(others.isEmpty ? nil : others.joined(separator: "; "), forHTTPHeaderField: "Cookie")
        return request
    }
}

// MARK: - Messages about the transfer

extension Load: CurlNetworking.URLSessionDataDelegate {
    func urlSession(
        _ session: CurlNetworking.URLSession,
        dataTask: CurlNetworking.URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (CurlNetworking.URLSession.ResponseDisposition) -> Void
    ) {
        show(response)
        completionHandler(.allow)
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        dataTask: CurlNetworking.URLSessionDataTask,
        didReceive data: Data
    ) {
        switch stock.sink {
        case .delegate: stock.received(data)
        case .handler: body.append(data)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        dataTask: CurlNetworking.URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        stock.ask { stock, session, delegate in
            guard let delegate = delegate as? any FoundationNetworking.URLSessionDataDelegate,
                let task = stock.task as? FoundationNetworking.URLSessionDataTask
            else { return completionHandler(proposedResponse) }
            delegate.urlSession(
                session,
                dataTask: task,
                willCacheResponse: proposedResponse,
                completionHandler: completionHandler
            )
        } orElse: {
            completionHandler(proposedResponse)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        stock.ask { stock, session, delegate in
            delegate.urlSession(
                session,
                task: stock.task,
                didSendBodyData: bytesSent,
                totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend
            )
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        if let error { return stock.fail(error) }
        show(task.response)
        if !body.isEmpty { stock.received(body) }
        stock.finish()
    }
}

// MARK: - Questions to the stock session's delegate

extension Load: CurlNetworking.URLSessionTaskDelegate {
    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        stock.ask { stock, session, delegate in
            delegate.urlSession(
                session,
                task: stock.task,
                willPerformHTTPRedirection: response,
                newRequest: request,
                completionHandler: completionHandler
            )
        } orElse: {
            completionHandler(request)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler:
            @escaping @Sendable (CurlNetworking.URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        stock.ask { stock, session, delegate in
            delegate.urlSession(session, task: stock.task, willBeginDelayedRequest: request) { disposition, request in
                switch disposition {
                case .cancel: completionHandler(.cancel, nil)
                case .useNewRequest: completionHandler(.useNewRequest, request)
                case .continueLoading: completionHandler(.continueLoading, nil)
                }
            }
        } orElse: {
            completionHandler(.continueLoading, nil)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (CurlNetworking.URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        stock.ask { stock, session, delegate in
            delegate.urlSession(session, task: stock.task, didReceive: challenge) { disposition, credential in
                completionHandler(.init(rawValue: disposition.rawValue) ?? .performDefaultHandling, credential)
            }
        } orElse: {
            completionHandler(.performDefaultHandling, nil)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        stock.ask { stock, session, delegate in
            delegate.urlSession(session, task: stock.task, needNewBodyStream: completionHandler)
        } orElse: {
            completionHandler(nil)
        }
    }
}

// MARK: - Decisions about TLS handshakes

extension Load: HandshakeDeputy {
    var handshakeDecider: AnyObject? { stock.delegate }
}
