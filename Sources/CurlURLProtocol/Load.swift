import CurlNetworking
import Foundation
import FoundationNetworking
import Locks

/// One task of a stock session on this module's transport: passes on what happens there. Its methods as a delegate are called on
/// the delegate queue of the session below.
final class Load: NSObject, @unchecked Sendable {
    // @unchecked is true because the variables are touched on the delegate queue of the session below alone, but for
    // `transfer`, which is set before anybody else knows the object.
    private let stock: Stock
    private var transfer: CurlNetworking.URLSessionTask?
    private var hasShownResponse = false
    /// A handler's body: of several pieces the stock module gives it the last one.
    private var body = Data()
    private var downloadedFile: URL?

    /// nil where the stock module's task can't be told, which happens with nobody's but a future version's.
    init?(for stockProtocol: CurlURLProtocol) {
        guard let stock = Stock(stockProtocol) else {
            stockProtocol.client?.urlProtocol(
                stockProtocol,
                didFailWithError: URLError(
                    .unknown,
                    "CurlURLProtocol doesn't know this version of FoundationNetworking."
                )
            )
            return nil
        }
        self.stock = stock
        super.init()
        let request = stockProtocol.request.withoutCookies(of: stock.session)
        let session = Sessions.shared.session(below: stock.session)
        guard let transfer = makeTransfer(of: request, in: session) else {
            stock.fail(
                URLError(
                    .unsupportedURL,
                    "CurlURLProtocol can't find the upload's body in this version of FoundationNetworking."
                )
            )
            return nil
        }
        transfer.delegate = self
        if let priority = stock.task.stockPriority { transfer.priority = priority }
        transfer.earliestBeginDate = stock.task.stockBeginDate
        self.transfer = transfer
    }

    private func makeTransfer(
        of request: URLRequest,
        in session: CurlNetworking.URLSession
    ) -> CurlNetworking.URLSessionTask? {
        if stock.task is FoundationNetworking.URLSessionDownloadTask { return session.downloadTask(with: request) }
        guard stock.task is FoundationNetworking.URLSessionUploadTask else { return session.dataTask(with: request) }
        switch stock.task.stockBody {
        case .data(let data): return session.uploadTask(with: request, from: data)
        case .file(let file): return session.uploadTask(with: request, fromFile: file)
        case .stream: return session.uploadTask(withStreamedRequest: request)
        case StockBody.none?: return session.uploadTask(with: request, from: Data())
        case nil: return nil
        }
    }

    func resume() {
        transfer?.resume()
    }

    func suspend() {
        transfer?.suspend()
    }

    func cancel() {
        transfer?.cancel()
    }

    private func show(_ response: URLResponse?) {
        guard !hasShownResponse, let response else { return }
        hasShownResponse = true
        stock.received(response)
    }
}

extension URLRequest {
    /// Without the cookies that a stock session writes into a request as it makes the task: secure ones and other paths' are among
    /// them, and a request that wants none is given them. The session below adds those that are for it.
    fileprivate func withoutCookies(of session: FoundationNetworking.URLSession) -> URLRequest {
        guard let url, let field = value(forHTTPHeaderField: "Cookie"),
            let cookies = session.configuration.httpCookieStorage?.cookies(for: url),
            HTTPCookie.requestHeaderFields(with: cookies)["Cookie"] == field
        else { return self }
        var request = self
        request.setValue(nil, forHTTPHeaderField: "Cookie")
        return request
    }
}

// MARK: - What happens to the transfer

extension Load: CurlNetworking.URLSessionDataDelegate, CurlNetworking.URLSessionDownloadDelegate {
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
        downloadTask: CurlNetworking.URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        show(downloadTask.response)
        stock.ask { stock, session, delegate in
            guard let delegate = delegate as? any FoundationNetworking.URLSessionDownloadDelegate,
                let task = stock.task as? FoundationNetworking.URLSessionDownloadTask
            else { return }
            delegate.urlSession(
                session,
                downloadTask: task,
                didWriteData: bytesWritten,
                totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite
            )
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        downloadTask: CurlNetworking.URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        // The file is gone when this returns.
        let file = location.deletingLastPathComponent().appendingPathComponent("CurlURLProtocol-\(UUID().uuidString)")
        do {
            try FileManager.default.moveItem(at: location, to: file)
            downloadedFile = file
        } catch {
            stock.fail(error)
        }
    }

    func urlSession(
        _ session: CurlNetworking.URLSession,
        task: CurlNetworking.URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        if let error {
            if let downloadedFile { try? FileManager.default.removeItem(at: downloadedFile) }
            return stock.fail(error)
        }
        show(task.response)
        guard task is CurlNetworking.URLSessionDownloadTask else {
            if !body.isEmpty { stock.received(body) }
            return stock.finish()
        }
        guard let downloadedFile else { return }
        stock.finish(with: downloadedFile)
    }
}

// MARK: - What the stock session's delegate decides

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
