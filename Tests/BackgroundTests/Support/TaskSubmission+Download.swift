import Foundation
import Testing

@testable import CurlNetworking

extension TaskSubmission {
    /// A download of `request`.
    static func download(
        _ request: URLRequest,
        identifier: Int = 1,
        resumeData: Data? = nil,
        isSuspended: Bool = false
    ) throws -> TaskSubmission {
        TaskSubmission(
            key: UUID(),
            identifier: identifier,
            kind: .download,
            request: try #require(RequestDescription(request)),
            resumeData: resumeData,
            cookies: [],
            intent: TaskIntent(isSuspended: isSuspended, cancellation: nil, settings: TaskSettings())
        )
    }
}

extension ResumeData {
    /// From which a download of `request` continues in `partial`, as long as the server has the same entity tag.
    static func encoded(
        _ request: URLRequest,
        in partial: PartialFile,
        completeLength: Int64? = nil
    ) throws -> Data {
        let data = ResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            validator: .entityTag("\"a\""),
            completeLength: completeLength,
            partialFile: partial
        )
        return try #require(data.encoded())
    }
}
