import Foundation

extension Data {
    /// Drops the first `count` bytes. A slice would keep them in memory, and copying the rest each time would cost a reader of single bytes
    /// the square of the length: so the rest is copied once it is shorter than the part dropped. The result may be a slice.
    mutating func consume(_ count: Int) {
        self = dropFirst(count)
        if startIndex > self.count { self = Data(self) }
    }
}
