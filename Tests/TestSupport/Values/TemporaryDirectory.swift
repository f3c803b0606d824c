import Foundation
import CurlNetworkingLoopbackServer

/// A test's own directory, removed with everything in it when this object is released.
package final class TemporaryDirectory: Sendable {
    package let url: URL

    package init(in parent: URL = FileManager.default.temporaryDirectory) throws {
        // Programs may show where a link leads.
        url = parent.resolvingSymlinksInPath().appendingPathComponent(
            "CurlNetworkingTests-\(UUID().uuidString)",
            isDirectory: true
        )
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Writes a file and returns where it is.
    package func file(_ name: String, _ content: Data) throws -> URL {
        let file = url.appendingPathComponent(name, isDirectory: false)
        try content.write(to: file)
        return file
    }

    /// Writes a shell script that can be run, and returns where it is. Another process writes it: one that this process starts meanwhile on
    /// another thread would keep it open for writing for a moment, and then it can't be run (ETXTBSY).
    package func script(_ name: String, _ text: String) throws -> URL {
        let file = url.appendingPathComponent(name, isDirectory: false)
        let ending = try Spawn.run(#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 700 "$1""#, [file.path, text])
        guard ending == .exit(0) else { throw ChildProcess.Failure(description: "\(file.path) can't be written") }
        return file
    }

    /// Writes a file with any name and returns where it is.
    package func file(_ content: Data) throws -> URL {
        try file("file", content)
    }

    /// Writes a file of `GeneratedBody`'s bytes, a piece at a time, and returns where it is.
    package func file(_ name: String = "file", length: Int64, seed: UInt64) throws -> URL {
        let file = try file(name, Data())
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for start in stride(from: 0, to: length, by: 1 << 20) {
            try handle.write(contentsOf: GeneratedBody.bytes(seed: seed, range: start..<min(start + 1 << 20, length)))
        }
        return file
    }

    /// Writes a file of zeros that takes no room on the disk, and returns where it is.
    package func sparseFile(length: Int64) throws -> URL {
        let file = try file("sparse", Data())
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.truncate(atOffset: UInt64(length))
        return file
    }

    /// The names of the files in it.
    package var content: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? []
    }
}
