import Foundation
import TestSupport

@testable import CurlNetworking

/// Reads a body as the loop does: when there is nothing, it waits to be told.
final class BodyReader: Sendable {
    let readable = Watched(0)

    func body(_ stream: InputStream, length: Int64? = nil) -> StreamedBody {
        StreamedBody(stream, length: length, url: nil) { [readable] in readable.update { $0 += 1 } }
    }

    func body(_ file: URL) throws(URLError) -> FileBody {
        FileBody(try ReadableFile(file), for: nil) { [readable] in readable.update { $0 += 1 } }
    }

    /// The next bytes, waiting for them; none at the end.
    func read(_ body: any RequestBody, _ size: Int) async throws -> Data {
        while true {
            let told = readable.value
            if let piece = try RequestBodyTests.read(body, size) { return piece }
            try await readable.wait { $0 > told }
        }
    }

    func readAll(_ body: any RequestBody, by size: Int = 10_000) async throws -> Data {
        var all = Data()
        while case let piece = try await read(body, size), !piece.isEmpty { all += piece }
        return all
    }
}
