import CurlNetworking
import Foundation

/// What a delegate was told or asked.
package enum DelegateEvent: Sendable, Equatable {
    case created
    case delayedRequest
    case waiting
    case redirect
    case challenge
    case bodyStream
    case sent(Int64, total: Int64, expected: Int64)
    case informational(status: Int)
    case response(status: Int)
    case becameDownload
    case data(count: Int)
    case wrote(Int64, total: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case finishedDownloading
    case metrics
    /// nil for success; `.unknown` for anything but a `URLError`.
    case completed(URLError.Code?)
    case becameInvalid
    /// Something that happened elsewhere, as described by a test.
    case noted(String)

    /// The event without its values.
    package var name: String {
        switch self {
        case .created: "created"
        case .delayedRequest: "delayed request"
        case .waiting: "waiting"
        case .redirect: "redirect"
        case .challenge: "challenge"
        case .bodyStream: "body stream"
        case .sent: "sent"
        case .informational(let status): "informational \(status)"
        case .response: "response"
        case .becameDownload: "became download"
        case .data: "data"
        case .wrote: "wrote"
        case .resumed: "resumed"
        case .finishedDownloading: "finished downloading"
        case .metrics: "metrics"
        case .completed: "completed"
        case .becameInvalid: "became invalid"
        case .noted(let words): words
        }
    }
}
