import CurlTransport
import Foundation
import Glibc

/// The records of tasks that arrived together, in one file, which costs a single wait for the disk: one record in each line. The file
/// never grows. A record is made void by overwriting the first character of its line, which also works on a full disk. The file is
/// removed with its last record.
///
/// A task whose record changes gets its own file. Used by the agent, on its queue.
///
/// `@unchecked Sendable`: see above.
final class RecordBatch: @unchecked Sendable {
    static let separator = UInt8(ascii: "\n")
    private static let void = UInt8(ascii: "-")

    private let path: String
    /// Where their lines begin, in bytes.
    private var offsets: [UUID: Int] = [:]

    init(path: String) {
        self.path = path
    }

    /// The keys of the tasks whose records are here.
    var keys: [UUID] { Array(offsets.keys) }

    func note(_ key: UUID, at offset: Int) {
        offsets[key] = offset
    }

    /// The lines that aren't void, and where they begin.
    static func lines(of content: Data) -> [(offset: Int, line: Data)] {
        content.split(separator: separator).filter { $0.first != void }.map { ($0.startIndex - content.startIndex, $0) }
    }

    /// Makes the record void. Throws if it can't: then another agent will find it.
    func remove(_ key: UUID) throws(SystemError) {
        guard let offset = offsets.removeValue(forKey: key) else { return }
        if !offsets.isEmpty { return try makeVoid(at: offset) }
        unlink(path)
    }

    /// Removes the file if all of its records are void.
    func removeIfEmpty() {
        if offsets.isEmpty { unlink(path) }
    }

    func makeVoid(at offset: Int) throws(SystemError) {
        let descriptor = uninterrupted { open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        var byte = Self.void
        guard uninterrupted({ pwrite(descriptor, &byte, 1, off_t(offset)) }) == 1 else { throw .current }
    }
}
