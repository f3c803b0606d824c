import Foundation

/// One large body to a file. Removing the file again is not measured.
struct Download: Scenario {
    private let arguments: Arguments
    private let receiver: Receiver
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        receiver = Receiver()
        session =
            arguments.style == .delegate
            ? makeSession(connectionsPerHost: 1, delegate: receiver, delegateQueue: receiver.queue)
            : makeSession(connectionsPerHost: 1)
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let outcome = await receiver.download(from: arguments.url, session: session, style: arguments.style)
        let reading = meter.stop()
        do {
            let file = try outcome.get()
            let bytes = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            tally.note(bytes == arguments.expect ? nil : "the file has \(bytes ?? 0) bytes")
            try FileManager.default.removeItem(at: file)
        } catch {
            tally.note("\(error)")
        }
        return reading.report(tally)
    }
}

/// One large body from a file.
struct Upload: Scenario {
    private let arguments: Arguments
    private let session = makeSession(connectionsPerHost: 1)

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func warmUp() async throws -> Tally {
        try await warmLibrariesUp(arguments)
    }

    func slice(_ tally: inout Tally) async -> Report {
        var request = URLRequest(url: arguments.url)
        request.httpMethod = "PUT"
        let meter = Meter()
        do {
            let (data, response) = try await session.upload(for: request, fromFile: arguments.file)
            tally.note(complaint(about: response, bytes: data.count, expect: arguments.expect))
        } catch {
            tally.note("\(error)")
        }
        return meter.stop().report(tally)
    }
}

/// Has the libraries and the code paths of a small transfer in memory before a large one is measured.
func warmLibrariesUp(_ arguments: Arguments) async throws -> Tally {
    var tally = Tally()
    if let url = arguments.warmup {
        let (data, response) = try await makeSession(connectionsPerHost: 1).data(from: url)
        tally.note(complaint(about: response, bytes: data.count, expect: nil))
    }
    return tally
}

/// Downloads one file, by `download(from:)` or as the session's delegate.
///
/// `@unchecked Sendable` is true because the stored properties change only on the delegate queue, which is serial.
private final class Receiver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let queue = OperationQueue()
    private var progress: Int64 = 0
    private var file: Result<URL, any Error> = .failure(Complaint("no file arrived"))
    private var finished: CheckedContinuation<Result<URL, any Error>, Never>?

    override init() {
        queue.maxConcurrentOperationCount = 1
    }

    func download(from url: URL, session: URLSession, style: Arguments.Style) async -> Result<URL, any Error> {
        guard style == .delegate else {
            do {
                return .success(try await session.download(from: url).0)
            } catch {
                return .failure(error)
            }
        }
        return await withCheckedContinuation { continuation in
            queue.addOperation { [self] in
                finished = continuation
                session.downloadTask(with: url).resume()
            }
        }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        progress = totalBytesWritten
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let kept = location.appendingPathExtension("kept")
        file = Result {
            try FileManager.default.moveItem(at: location, to: kept)
            return kept
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        finished.take()?.resume(returning: error.map { .failure($0) } ?? file)
    }
}
