import Foundation

// What the stock module exports isn't declared again: where both are visible, its name would be ambiguous. That goes for
// `NSURLSessionTransferSizeUnknown` and `URLSessionDownloadTaskResumeData`.

/// The key of a failed download's resume data in its error's `userInfo`; the value is `Data`.
///
/// The stock module's spelling is `URLSessionDownloadTaskResumeData`; both name the same key. Source:
/// <https://developer.apple.com/documentation/foundation/nsurlsessiondownloadtaskresumedata>
public let NSURLSessionDownloadTaskResumeData: String = URLSessionDownloadTaskResumeData

/// The key of the reason in the `userInfo` of an error that a network may not be used; the value is the `Int` of a
/// `URLError.NetworkUnavailableReason`.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlerrornetworkunavailablereasonkey>
public let NSURLErrorNetworkUnavailableReasonKey: String = "NSURLErrorNetworkUnavailableReasonKey"

extension URLError {
    /// Why a network may not be used.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.enum>
    public enum NetworkUnavailableReason: Int, Sendable {
        /// It is a cellular one.
        case cellular
        /// The system considers it expensive.
        case expensive
        /// It is in Low Data Mode.
        case constrained
        /// It is a satellite's, or the like.
        case ultraConstrained
    }

    /// Why a network may not be used, as far as an error says so. The errors of this module never do: Linux makes no such
    /// difference between networks.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.property>
    public var networkUnavailableReason: NetworkUnavailableReason? {
        (userInfo[NSURLErrorNetworkUnavailableReasonKey] as? Int).flatMap(NetworkUnavailableReason.init)
    }

    /// What the server has presented that was not trusted, where a delegate was asked about it; nil for other errors.
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

    /// The data to resume the failed download from, where there is any: pass it to
    /// ``URLSession/downloadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/downloadtaskresumedata>
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }
}
