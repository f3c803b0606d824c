import Foundation

/// The size that counters and delegate methods report while it is not known: -1.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlsessiontransfersizeunknown>
public let NSURLSessionTransferSizeUnknown: Int64 = -1

/// The key of a failed download's resume data in its error's `userInfo`; the value is `Data`.
///
/// The stock module's spelling of ``NSURLSessionDownloadTaskResumeData``; both name the same key.
public let URLSessionDownloadTaskResumeData: String = NSURLSessionDownloadTaskResumeData

/// The key of a failed download's resume data in its error's `userInfo`; the value is `Data`.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsurlsessiondownloadtaskresumedata>
public let NSURLSessionDownloadTaskResumeData: String = "NSURLSessionDownloadTaskResumeData"

extension URLError {
    /// The data to resume the failed download from, where there is any: pass it to
    /// ``URLSession/downloadTask(withResumeData:)``.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlerror/downloadtaskresumedata>
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }
}
