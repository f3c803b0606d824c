import Foundation

extension URLRequest {
    /// Whether there is content to send; empty data is none.
    var hasContent: Bool { httpBody?.isEmpty == false || httpBodyStream != nil }
}
