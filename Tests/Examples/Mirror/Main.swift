import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// Keeps a copy of the files in a list: a text with a URL in each line, relative to the list's own.
@main
struct Main {
    static let usage = "usage: curlnetworking-mirror LIST-URL DIRECTORY"

    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 2, let list = URL(string: words[1]), list.host != nil else { fail(usage, code: 64) }
        let directory = URL(fileURLWithPath: words[2], isDirectory: true)
        do {
            let failures = try await untilInterrupted { try await mirror(list, to: directory) }
            if failures > 0 { fail("\(failures) files could not be mirrored") }
        } catch is CancellationError {
            fail("interrupted; the same command goes on from here", code: 130)
        } catch {
            fail("\(list.absoluteString): \(error.localizedDescription)")
        }
    }

    /// Returns how many files failed. One that fails keeps none of the others from being mirrored.
    static func mirror(_ list: URL, to directory: URL) async throws -> Int {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 30
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let (sources, refusals) = try await sources(in: list, with: session)
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            var failures = refusals
            for (number, source) in sources.enumerated() {
                // Four at a time, so that what is complete is so early.
                if number >= 4, try await group.next() == false { failures += 1 }
                group.addTask { try await update(source, in: directory, with: session) }
            }
            return try await group.reduce(failures) { $1 ? $0 : $0 + 1 }
        }
    }

    /// The files in the list, and how many of its lines are none.
    static func sources(in list: URL, with session: URLSession) async throws -> (files: [URL], refusals: Int) {
        let (bytes, response) = try await session.bytes(from: list)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        var files: [URL] = []
        var refusals = 0
        for try await line in bytes.lines {
            // Files of two hosts would get into each other's way.
            guard let url = URL(string: line, relativeTo: list)?.absoluteURL, url.host == list.host,
                url.port == list.port
            else {
                say("refused \(line): it isn't a file of the list's host")
                refusals += 1
                continue
            }
            if !files.contains(url) { files.append(url) }
        }
        return (files, refusals)
    }

    /// Says what became of a file, and whether that is good; throws when the work was cancelled.
    static func update(_ source: URL, in directory: URL, with session: URLSession) async throws -> Bool {
        guard let file = MirroredFile(source, in: directory) else {
            say("refused \(source.absoluteString): it would lie outside of the directory")
            return false
        }
        do {
            switch try await file.update(with: session) {
            case .unchanged: say("unchanged \(source.path)")
            case .loaded(let bytes, 0): say("loaded \(source.path): \(bytes) bytes")
            case .loaded(let bytes, let offset): say("resumed \(source.path) at \(offset): \(bytes) bytes")
            }
            return true
        } catch {
            try Task.checkCancellation()
            say("failed \(source.path): \((error as? URLError)?.localizedDescription ?? "\(error)")")
            return false
        }
    }
}
