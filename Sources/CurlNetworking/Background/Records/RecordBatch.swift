import CurlTransport
import Foundation
import Glibc

/// The records of tasks that arrived together, one per line of a single file, which needs only one sync. The file never grows. A record is
/// made void where it is (`RecordFile`), and the file is removed with its last one.
///
/// A task whose record changes gets its own file. Used by the agent, on its queue.
///
/// `@unchecked Sendable`: see above.
final class RecordBatch: @unchecked Sendable {
    static let separator = UInt8(ascii: "\n")

    private let path: String
    /// The byte ranges of the records' lines that aren't void.
    private var lines: [UUID: Range<Int>] = [:]
    /// Those of them that nobody needs, but that couldn't be made void.
    private var unneeded: Set<UUID> = []

    init(path: String) {
        self.path = path
    }

    func note(_ key: UUID, at line: Range<Int>) {
        lines[key] = line
    }

    /// The lines that aren't void, and where they are.
    static func lines(of content: Data) -> [(place: Range<Int>, line: Data)] {
        content.split(separator: separator).filter { !RecordFile.isVoid($0) }.map { line in
            let start = line.startIndex - content.startIndex
            return (start..<start + line.count, line)
        }
    }

    /// Makes the record void, if there is one, or removes the file if nobody needs another of its records. If this throws, another agent
    /// will find the record, and this may be called again.
    func remove(_ key: UUID) throws(SystemError) {
        guard let line = lines[key] else { return }
        unneeded.insert(key)
        guard unneeded.count < lines.count else {
            try RecordFile.remove(path)
            (lines, unneeded) = ([:], [])
            return
        }
        try makeVoid(line)
        lines[key] = nil
        unneeded.remove(key)
    }

    /// Removes the file if all of its records are void.
    func removeIfEmpty() {
        if lines.isEmpty { unlink(path) }
    }

    func makeVoid(_ line: Range<Int>) throws(SystemError) {
        try RecordFile.makeVoid(line, in: path)
    }
}
