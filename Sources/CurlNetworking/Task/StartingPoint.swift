import Foundation

/// Where a task starts: at the beginning, or where an earlier task stopped, according to the caller's resume data.
enum StartingPoint: Sendable {
    case beginning
    case download(ResumeData)
    case upload(UploadResumption)
    /// The resume data can't be used: the task fails with this error.
    case invalid(URLError)

    /// What a resumed download continues from.
    var download: ResumeData? {
        if case .download(let resumeData) = self { resumeData } else { nil }
    }
}
