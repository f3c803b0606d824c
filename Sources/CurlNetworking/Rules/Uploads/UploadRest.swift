/// The part of an upload that a request sends when the server has the beginning, in bytes.
struct UploadRest: Equatable, Sendable {
    /// How much the server has.
    let offset: Int64
    /// The length of the whole; nil if unknown.
    let total: Int64?
    /// Where this request's piece ends; nil if it sends everything that is missing.
    var end: Int64?

    init(from offset: Int64, of total: Int64?, upTo end: Int64? = nil) {
        (self.offset, self.total, self.end) = (offset, total, end)
    }

    /// The length of what the request sends; nil if unknown.
    var length: Int64? { (end ?? total).map { max(0, $0 - offset) } }

    var isLast: Bool { end == nil }
}
