import Foundation

extension Data {
    /// Drops the first `count` bytes. A slice would keep them in memory, and copying the rest each time would cost a reader of single bytes
    /// the square of the length: so the rest is copied once it is less than what was dropped. It may be a slice afterwards.
    mutating func consume(_ count: Int) {
        self = dropFirst(count)
        if startIndex > self.count { self = Data(self) }
    }
}
