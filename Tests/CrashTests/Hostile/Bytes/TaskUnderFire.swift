import CurlNetworking
import Foundation
import Synchronization

/// Whole tasks, whose server answers with bytes that somebody invented. Traps unless each task ends once, with a response or a `URLError`,
/// and without waiting for its time-out: the server closes each connection.
///
/// `make fuzz` gives it what libFuzzer invents; `HostileBytesTests` gives it what is in the corpus.
final class TaskUnderFire: Sendable {
    /// The most that a task takes of a body, in bytes: a few bytes can inflate to gigabytes, and no test waits for them.
    private static let maximumReceived: Int64 = 8 * 1024 * 1024
    /// The most redirects that a task follows: each meets the same bytes, and says nothing that two haven't said.
    private static let maximumRedirects = 2

    private let server = ByteServer()
    private let witness = Witness()
    private let session: URLSession
    /// Of partial files, which no task resumes from.
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("fire-\(UUID().uuidString)")

    init(_ version: CurlOptions.HTTPVersion) {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.temporaryDirectory = directory
        // Wherever a redirect leads, it comes here.
        configuration.curl.names.unixSocket = .abstract(server.name)
        configuration.curl.httpVersion = version
        configuration.timeoutIntervalForRequest = 8
        // libcurl's timer for it would have libcurl look at a transfer that everybody else has forgotten.
        configuration.curl.connections.happyEyeballsDelay = .seconds(60)
        configuration.urlCache = URLCache(memoryCapacity: 256 * 1024, diskCapacity: 0, diskPath: nil)
        session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
    }

    deinit {
        session.invalidateAndCancel()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Blocks until the task has ended. One caller at a time.
    func run(_ bytes: UnsafeRawBufferPointer) {
        server.answer(with: bytes)
        guard let url = URL(string: "http://example.test/\(bytes.count % 7)") else { preconditionFailure() }
        let task = bytes.count.isMultiple(of: 2) ? session.dataTask(with: url) : session.downloadTask(with: url)
        task.resume()
        witness.waitForEnd(of: task)
    }

    private final class Witness: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
        private let ends = DispatchSemaphore(value: 0)
        /// Of the task that runs.
        private let redirects = Atomic(0)

        func waitForEnd(of task: URLSessionTask) {
            ends.wait()
            // Nothing comes after it.
            precondition(ends.wait(timeout: .now()) == .timedOut)
            precondition(task.state == .completed)
            redirects.store(0, ordering: .relaxed)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            let number = redirects.add(1, ordering: .relaxed).newValue
            completionHandler(number <= TaskUnderFire.maximumRedirects ? request : nil)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            if dataTask.countOfBytesReceived > TaskUnderFire.maximumReceived { dataTask.cancel() }
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64,
            totalBytesExpectedToWrite: Int64
        ) {
            if totalBytesWritten > TaskUnderFire.maximumReceived { downloadTask.cancel() }
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {
            precondition(FileManager.default.fileExists(atPath: location.path))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            if let error {
                precondition((error as? URLError).map { $0.code != .timedOut } == true)
            } else {
                precondition(task.response is HTTPURLResponse)
            }
            ends.signal()
        }
    }
}
