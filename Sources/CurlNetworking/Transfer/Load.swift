import Curl
import Foundation

/// Where a response and its body come from when it is not from an exchange: a program's protocol class, a file, a data URL, or
/// an FTP server. Loop only.
protocol Load: AnyObject {
    /// Since when nothing has moved; nil where the idle clock doesn't run.
    var lastActivity: MonotonicTime? { get }

    /// Nothing is reported while it is paused.
    func setPaused(_ isPaused: Bool)

    /// The request's body, which had nothing to send, has something now.
    func bodyBecameReadable()

    /// Ends it: nothing is reported any more.
    func stop()
}

extension Load {
    var lastActivity: MonotonicTime? { nil }

    func bodyBecameReadable() {}
}

/// What a `Load` reports to its task. All calls come on the loop, none while it is paused, and none after it was stopped.
protocol LoadOwner: AnyObject {
    func load(_ load: any Load, received response: URLResponse)
    func load(_ load: any Load, received data: Data)
    /// The last call.
    func loadFinished(_ load: any Load, _ error: URLError?)
}
