@testable import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport

extension URLSession {
    /// A session whose downloads go to `directory`.
    static func forDownloads(
        to directory: TemporaryDirectory,
        delegate: (any URLSessionDelegate)? = nil,
        delegateQueue: OperationQueue? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        forTest(delegate: delegate, delegateQueue: delegateQueue) { configuration in
            configuration.curl.temporaryDirectory = directory.url
            configure(configuration)
        }
    }

    /// Runs a download task with a completion handler to its end.
    func download(_ request: URLRequest) async -> DownloadResult {
        await withCheckedContinuation { continuation in
            downloadTask(with: request) { continuation.resume(returning: DownloadResult($0, $1, $2)) }.resume()
        }
    }

    /// Returns when no task is left that hasn't completed.
    func allTasksCompleted() async throws {
        while !core.isIdle {
            try Task.checkCancellation()
            await withCheckedContinuation { continuation in
                delegateQueue.addOperation { continuation.resume() }
            }
        }
    }
}

/// Nothing is done with any download's file. For tests in a process of their own.
enum DownloadHold {
    static func begin(until gate: Gate) {
        // More than there are threads for files.
        for _ in 0..<100 { WorkThreads.files.run { gate.waitBlocking() } }
    }
}

/// What a download's completion handler was given, and what was in the file then.
struct DownloadResult: Sendable {
    let file: URL?
    let content: Data?
    let response: HTTPURLResponse?
    let error: URLError?

    init(_ file: URL?, _ response: URLResponse?, _ error: (any Error)?) {
        self.file = file
        content = file.flatMap { try? Data(contentsOf: $0) }
        self.response = response as? HTTPURLResponse
        self.error = error.map { $0 as? URLError ?? URLError(.unknown) }
    }
}
