import CurlNetworking
import Foundation

/// What a delegate was told.
package enum DelegateEvent: Sendable, Equatable {
    case created
    case response(status: Int)
    case becameDownload
    case data(count: Int)
    case sent(Int64, total: Int64, expected: Int64)
    case wrote(Int64, total: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case finishedDownloading
    /// nil for success; `.unknown` for what is no `URLError`.
    case completed(URLError.Code?)
    case becameInvalid

    /// The event without its values.
    package var name: String {
        switch self {
        case .created: "created"
        case .response: "response"
        case .becameDownload: "becameDownload"
        case .data: "data"
        case .sent: "sent"
        case .wrote: "wrote"
        case .resumed: "resumed"
        case .finishedDownloading: "finishedDownloading"
        case .completed: "completed"
        case .becameInvalid: "becameInvalid"
        }
    }
}
