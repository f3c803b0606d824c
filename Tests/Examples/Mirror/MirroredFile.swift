import CurlNetworking
import Foundation

/// A file of the mirror: loaded when it has changed, and from where it stopped if the last run was killed.
///
/// What arrives is appended to a partial file under `.mirror`, next to the entity tag of the version that it is of. A complete one
/// takes the place of what the mirror had, in one step.
struct MirroredFile: Sendable {
    enum Outcome: Sendable { case unchanged, loaded(bytes: Int, resumedAt: UInt64) }

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    let source: URL
    let destination: URL
    private let partial: URL
    private let tag: URL

    /// Nil where the path leads out of the directory, or into the mirror's own.
    init?(_ source: URL, in directory: URL) {
        let names = source.path.split(separator: "/").map(String.init)
        let isSafe = !names.contains { [".", ".."].contains($0) || $0.utf8.contains(0) }
        guard isSafe, !names.isEmpty, names[0] != ".mirror", !source.path.hasSuffix("/") else { return nil }
        let path = names.joined(separator: "/")
        self.source = source
        destination = directory.appendingPathComponent(path)
        partial = directory.appendingPathComponent(".mirror/partial").appendingPathComponent(path)
        tag = directory.appendingPathComponent(".mirror/tags").appendingPathComponent(path)
    }

    func update(with session: URLSession) async throws -> Outcome {
        for file in [partial, tag] { try makeFolder(of: file) }
        let offset = try length(of: partial)
        let (bytes, answer) = try await session.bytes(for: request(from: offset))
        guard let response = answer as? HTTPURLResponse else { throw Refusal(description: "no HTTP") }
        let range = response.value(forHTTPHeaderField: "Content-Range") ?? ""
        switch response.statusCode {
        case 304:
            return .unchanged
        case 200:
            let count = try await append(bytes, to: startOver(response))
            return try finish(.loaded(bytes: count, resumedAt: 0))
        case 206 where isRest(range, from: offset):
            let count = try await append(bytes, to: FileHandle(forWritingTo: partial))
            return try finish(.loaded(bytes: count, resumedAt: offset))
        case 416 where range == "bytes */\(offset)":
            // The last run was killed when it had everything.
            return try finish(.loaded(bytes: 0, resumedAt: offset))
        default:
            throw Refusal(description: "status \(response.statusCode)")
        }
    }

    /// Asks for the rest of a partial file, if that is of the server's current version; else for a newer version than the mirror's.
    private func request(from offset: UInt64) -> URLRequest {
        var request = URLRequest(url: source, cachePolicy: .reloadIgnoringLocalCacheData)
        // A range is one of the bytes on the wire: those must be the file's.
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        guard let version = try? String(contentsOf: tag, encoding: .utf8), !version.isEmpty else { return request }
        if offset > 0, !version.hasPrefix("W/") {
            request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
            request.setValue(version, forHTTPHeaderField: "If-Range")
        } else if offset == 0, FileManager.default.fileExists(atPath: destination.path),
            !FileManager.default.fileExists(atPath: partial.path)
        {
            request.setValue(version, forHTTPHeaderField: "If-None-Match")
        }
        return request
    }

    /// Empties the partial file before it gets its new tag: at no moment do bytes of one version stand under the tag of another.
    private func startOver(_ response: HTTPURLResponse) throws -> FileHandle {
        try Data().write(to: partial)
        let version = response.value(forHTTPHeaderField: "ETag") ?? ""
        try version.write(to: tag, atomically: true, encoding: .utf8)
        return try FileHandle(forWritingTo: partial)
    }

    /// The server goes no faster than the disk: what isn't written yet isn't asked for.
    private func append(_ bytes: URLSession.AsyncBytes, to file: FileHandle) async throws -> Int {
        defer { try? file.close() }
        try file.seekToEnd()
        var count = 0
        for try await chunk in bytes.chunks {
            try file.write(contentsOf: chunk)
            count += chunk.count
        }
        try file.synchronize()
        return count
    }

    private func finish(_ outcome: Outcome) throws -> Outcome {
        try makeFolder(of: destination)
        guard rename(partial.path, destination.path) == 0 else {
            throw Refusal(description: "could not be moved: \(String(cString: strerror(errno)))")
        }
        return outcome
    }

    /// Whether that is all from the offset to the end, and not a part of it.
    private func isRest(_ range: String, from offset: UInt64) -> Bool {
        guard let total = range.split(separator: "/").last.flatMap({ UInt64($0) }), total > offset else { return false }
        return range == "bytes \(offset)-\(total - 1)/\(total)"
    }

    private func makeFolder(of file: URL) throws {
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func length(of file: URL) throws -> UInt64 {
        guard FileManager.default.fileExists(atPath: file.path) else { return 0 }
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes[.size] as? NSNumber)?.uint64Value ?? 0
    }
}
