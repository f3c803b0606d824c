import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport

/// A stock session whose transfers run on our transport.
enum StockSession {
    /// What our transport adds to every request: how a test tells that it was ours.
    static let mark = "X-Transport"

    /// Makes our transport add it.
    static let marked: Void = {
        let configuration = CurlURLProtocol.configuration
        configuration.httpAdditionalHeaders = [mark: "CurlNetworking"]
        CurlURLProtocol.configuration = configuration
    }()

    static func make(
        delegate: (any URLSessionDelegate)? = nil,
        queue: OperationQueue? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        marked
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [CurlURLProtocol.self]
        configuration.urlCache = nil
        configure(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }
}

extension LoopbackServer {
    /// Whether all requests came over our transport.
    var hasOurRequestsOnly: Bool {
        !requests.isEmpty && requests.allSatisfy { $0.headers(named: StockSession.mark) == ["CurlNetworking"] }
    }
}

/// A delegate of a stock session that writes down what it hears.
final class StockDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    struct State: Sendable {
        var events: [String] = []
        var body = Data()
        var sent: Int64 = 0
        /// A description for each failure.
        var ends: [URLError.Code?] = []
        var endTexts: [String] = []
    }

    let state = Watched(State())
    private let credential: URLCredential?
    private let followsRedirects: Bool
    private let stream: (@Sendable () -> InputStream)?

    init(
        credential: URLCredential? = nil,
        followsRedirects: Bool = true,
        stream: (@Sendable () -> InputStream)? = nil
    ) {
        self.credential = credential
        self.followsRedirects = followsRedirects
        self.stream = stream
    }

    /// Returns when a task has ended.
    func end() async throws -> State {
        try await state.wait { !$0.ends.isEmpty }
        return state.value
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        state.update { $0.events.append("response \((response as? HTTPURLResponse)?.statusCode ?? 0)") }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.update { $0.body += data }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        state.update { $0.sent = totalBytesSent }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        state.update { $0.events.append("wrote \(totalBytesWritten)") }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        state.update { $0.events.append("file") }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        state.update { $0.events.append("redirect \(response.statusCode) to \(request.url?.path ?? "")") }
        completionHandler(followsRedirects ? request : nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        state.update { $0.events.append("challenge \(challenge.protectionSpace.realm ?? "")") }
        completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(stream?())
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        state.update { $0.events.append("caches \(proposedResponse.data.count) bytes") }
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        state.update { $0.events.append("begins") }
        var request = request
        request.setValue("yes", forHTTPHeaderField: "X-Late")
        completionHandler(.useNewRequest, request)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.update {
            $0.ends.append(error.map { ($0 as? URLError)?.code ?? .unknown })
            if let error { $0.endTexts.append(error.localizedDescription) }
        }
    }
}
