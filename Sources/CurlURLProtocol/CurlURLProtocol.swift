import CurlNetworking
import Foundation
import FoundationNetworking
import CurlNetworkingLocks

/// Makes the stock `URLSession` load http and https through this module's transport.
///
/// For programs and libraries that keep using FoundationNetworking's session:
///
/// ```swift
/// let configuration = FoundationNetworking.URLSessionConfiguration.default
/// configuration.protocolClasses = [CurlURLProtocol.self]
/// let session = FoundationNetworking.URLSession(configuration: configuration)
/// ```
///
/// Data and upload tasks run on one of this module's sessions, which takes cookies, cache, credentials, headers and time-outs from the
/// stock session's configuration and everything else from ``configuration``. The stock session's delegate is asked about redirects and
/// challenges, and told of bytes sent, as Apple documents. The stock module handles the response: it applies no back-pressure for a slow
/// delegate.
///
/// A download task fails with `cannotCreateFile`: the stock module gives protocol classes no way to hand over a file.
open class CurlURLProtocol: FoundationNetworking.URLProtocol {
    private let load = Mutex<Load?>(nil)

    // MARK: - Settings

    /// The configuration of transfers for stock sessions; a copy. A change applies to later loads. Any thread.
    public static var configuration: CurlNetworking.URLSessionConfiguration {
        get { Sessions.shared.configuration }
        set { Sessions.shared.configuration = newValue }
    }

    // MARK: - URLProtocol

    /// Whether `request` is for http or https.
    open override class func canInit(with request: URLRequest) -> Bool {
        ["http", "https"].contains(request.url?.scheme?.lowercased())
    }

    /// Whether `task`'s request is for http or https. False for a task of this module's own session, which doesn't need the class.
    open override class func canInit(with task: FoundationNetworking.URLSessionTask) -> Bool {
        !(task is any StandInTask) && super.canInit(with: task)
    }

    /// The request, unchanged.
    open override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Starts the load, or resumes a suspended one. Called by the stock module.
    open override func startLoading() {
        if let load = load.withLock({ $0 }) { return load.resume() }
        // Without the lock: if the load fails at once, the stock module calls `stopLoading` within this call.
        guard let started = Load(for: self) else { return }
        load.withLock { $0 = started }
        started.resume()
    }

    /// Suspends or cancels the load, as its task was. Called by the stock module some time later.
    open override func stopLoading() {
        guard let load = load.withLock({ $0 }) else { return }
        switch task?.state {
        // It has been resumed since.
        case .running: break
        case .suspended: load.suspend()
        case .canceling, .completed, nil: load.cancel()
        }
    }
}
