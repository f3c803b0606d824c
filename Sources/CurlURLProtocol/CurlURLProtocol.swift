import CurlNetworking
import Foundation
import FoundationNetworking
import Locks

/// Has the stock `URLSession` load http and https through this module's transport.
///
/// For programs and libraries that keep using FoundationNetworking's own session:
///
/// ```swift
/// let configuration = FoundationNetworking.URLSessionConfiguration.default
/// configuration.protocolClasses = [CurlURLProtocol.self]
/// let session = FoundationNetworking.URLSession(configuration: configuration)
/// ```
///
/// Data, upload and download tasks run on a session of this module's, which takes cookies, cache, credentials, headers and
/// time-outs from the stock session's configuration and everything else from ``configuration``. The stock session's delegate is
/// asked about redirects and challenges, and told of bytes sent and written, as Apple documents it. What the stock module does
/// with a response once it has it is its own: it holds no transfer back for a slow delegate.
open class CurlURLProtocol: FoundationNetworking.URLProtocol {
    private let load = Mutex<Load?>(nil)

    // MARK: - Settings

    /// What the transfers below stock sessions are made with; a copy. A change concerns what is loaded from then on. Any thread.
    public static var configuration: CurlNetworking.URLSessionConfiguration {
        get { Sessions.shared.configuration }
        set { Sessions.shared.configuration = newValue }
    }

    // MARK: - URLProtocol

    /// Whether `request` is for http or https.
    open override class func canInit(with request: URLRequest) -> Bool {
        ["http", "https"].contains(request.url?.scheme?.lowercased())
    }

    /// Whether `task`'s request is for http or https. A task of this module's own session has no need of the class.
    open override class func canInit(with task: FoundationNetworking.URLSessionTask) -> Bool {
        !(task is any StandInTask) && super.canInit(with: task)
    }

    /// The request as it is.
    open override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Begins, or goes on with a task that was suspended. Called by the stock module.
    open override func startLoading() {
        if let load = load.withLock({ $0 }) { return load.resume() }
        // Without the lock: what fails at once is told the stock module, which stops at once.
        guard let started = Load(for: self) else { return }
        load.withLock { $0 = started }
        started.resume()
    }

    /// Suspends or cancels, as the task was. Called by the stock module.
    open override func stopLoading() {
        let isSuspended = task?.state == .suspended
        load.withLock { $0 }.map { isSuspended ? $0.suspend() : $0.cancel() }
    }
}
