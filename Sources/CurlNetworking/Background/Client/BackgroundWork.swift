import Foundation

/// What a background session's task does, and what it continues.
enum BackgroundWork: Sendable {
    /// What it continues from is resume data.
    case download(continuing: Data?)
    case upload(UploadFile, continuing: ResumedUpload?)

    struct ResumedUpload: Sendable {
        let resumption: UploadResumption
        /// What `resumption` was made from.
        let resumeData: Data
    }

    /// The work of a task that an earlier program made, and an agent has.
    init(_ submission: TaskSubmission) {
        switch submission.kind {
        case .download: self = .download(continuing: submission.resumeData)
        case .upload(let file): self = .upload(file, continuing: nil)
        }
    }

    var kind: TaskSubmission.Kind {
        switch self {
        case .download: .download
        case .upload(let file, _): .upload(file)
        }
    }

    /// What the program made the task from.
    var resumeData: Data? {
        switch self {
        case .download(let resumeData): resumeData
        case .upload(_, let resumed): resumed?.resumeData
        }
    }
}
