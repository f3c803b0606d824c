import CurlTransport
import Foundation
import Glibc

/// The records of tasks that arrived together, one per line of a single file, which needs only one sync. The file never grows. A record,
/// which may contain credentials, is made void by overwriting its line: that works even on a full disk. The file is removed with its last
/// record.
///
/// A task whose record changes gets its own file. Used by the agent, on its queue.
///
/// `@unchecked Sendable`: see above.
final class RecordBatch: @unchecked Sendable {
    static let separator = UInt8(ascii: "\n")
    private static let void = UInt8(ascii: "-")

    private let path: String
    /// The byte ranges of the records' lines.
    private var lines: [UUID: Range<Int>] = [:]

    init(path: String) {
        self.path = path
    }

    func note(_ key: UUID, at line: Range<Int>) {
        lines[key] = line
    }

    /// The lines that aren't void, and where they are.
    static func lines(of content: Data) -> [(place: Range<Int>, line: Data)] {
        content.split(separator: separator).filter { $0.first != void }.map { line in
            let start = line.startIndex - content.startIndex
            return (start..<start + line.count, line)
        }
    }

    /// Makes the record void. If this throws, another agent will find the record.
    func remove(_ key: UUID) throws(SystemError) {
        guard let line = lines.removeValue(forKey: key) else { return }
        if !lines.isEmpty { return try makeVoid(line) }
        unlink(path)
    }

    /// Removes the file if all of its records are void.
    func removeIfEmpty() {
        if lines.isEmpty { unlink(path) }
    }

    func makeVoid(_ line: Range<Int>) throws(SystemError) {
        let descriptor = uninterrupted { open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        guard lseek(descriptor, off_t(line.lowerBound), SEEK_SET) >= 0 else { throw .current }
        let filler = [UInt8](repeating: Self.void, count: line.count)
        try filler.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
    }
}
