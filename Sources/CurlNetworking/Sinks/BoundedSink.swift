import Foundation

/// Collects in memory a body that only the cache may want. A body longer than `limit` ends the task.
final class BoundedSink: Sink {
    private var body = Data()
    /// In bytes.
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        guard body.count + bytes.count <= limit else {
            throw URLError(.dataLengthExceedsMaximum, url: nil, "The body is longer than the cache takes.")
        }
        body.append(contentsOf: bytes)
    }

    var wholeBody: Data? { body }
}
