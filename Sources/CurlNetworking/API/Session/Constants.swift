import Foundation

// Names that the stock module exports aren't redeclared, since they would be ambiguous where both modules are visible:
// `NSURLSessionTransferSizeUnknown` and `URLSessionDownloadTaskResumeData`.

/// The key of a failed download's resume data in its error's `userInfo`; the value is `Data`.
///
/// The stock module's spelling is `URLSessionDownloadTaskResumeData`; both name the same key. Source:
/// <https://developer.apple.com/documentation/foundation/nsurlsessiondownloadtaskresumedata>
public let NSURLSessionDownloadTaskResumeData: String = URLSessionDownloadTaskResumeData

/// The key of a failed upload's resume data in its error's `userInfo`; the value is `Data`.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlsessionuploadtaskresumedata>
public let NSURLSessionUploadTaskResumeData: String = "NSURLSessionUploadTaskResumeData"

/// The key, in an error's `userInfo`, of the reason a network may not be used; the value is the raw value of a
/// `URLError.NetworkUnavailableReason`, an `Int`.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlerrornetworkunavailablereasonkey>
public let NSURLErrorNetworkUnavailableReasonKey: String = "NSURLErrorNetworkUnavailableReasonKey"

extension URLError {
    /// The reason a network may not be used.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.enum>
    public enum NetworkUnavailableReason: Int, Sendable {
        /// The network is cellular.
        case cellular
        /// The system considers the network expensive.
        case expensive
        /// The network is in Low Data Mode.
        case constrained
        /// The network is a satellite network or similar.
        case ultraConstrained
    }

    /// The reason a network may not be used, if the error has one. Errors of this module never do: Linux doesn't distinguish networks that
    /// way.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.property>
    public var networkUnavailableReason: NetworkUnavailableReason? {
        (userInfo[NSURLErrorNetworkUnavailableReasonKey] as? Int).flatMap(NetworkUnavailableReason.init)
    }

    /// The trust that failed evaluation, if a delegate was asked about it; nil for other errors.
    ///
    /// Apple's property is a `SecTrust`. Source:
    /// <https://developer.apple.com/documentation/foundation/urlerror/failureurlpeertrust>
    public var failureURLPeerTrust: ServerTrust? {
        userInfo[NSURLErrorFailingURLPeerTrustErrorKey] as? ServerTrust
    }

    func with(peerTrust: ServerTrust) -> URLError {
        var userInfo = userInfo
        userInfo[NSURLErrorFailingURLPeerTrustErrorKey] = peerTrust
        return URLError(code, userInfo: userInfo)
    }

    /// The data to resume the failed download from, if there is any. Pass it to
    /// ``URLSession/downloadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/downloadtaskresumedata>
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }

    /// The data to resume the failed upload from, if there is any. Pass it to ``URLSession/uploadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/uploadtaskresumedata>
    public var uploadTaskResumeData: Data? {
        userInfo[NSURLSessionUploadTaskResumeData] as? Data
    }
}

extension URLError {
    /// The reason a background session's task was cancelled by something other than the program.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/backgroundtaskcancelledreason-swift.enum>
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        /// The user ended the program's background transfers: `curlnetworking-agent --cancel-all` or
        /// ``CurlBackgroundAgent/cancelAllTasks(of:)``.
        case userForceQuitApplication
        /// Background transfers are not allowed. Doesn't happen on Linux.
        case backgroundUpdatesDisabled
        /// Doesn't happen on Linux: a task that the agent has no space for fails with `cannotWriteToFile` instead.
        case insufficientSystemResources
    }

    /// The reason the task was cancelled; nil unless something other than the program cancelled it in a background session.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/backgroundtaskcancelledreason-swift.property>
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
        (userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int).flatMap(BackgroundTaskCancelledReason.init)
    }
}
