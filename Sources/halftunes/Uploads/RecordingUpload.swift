import CurlNetworking
import CurlNetworkingLocks
import Foundation

/// An upload of a recording to a catalogue.
struct RecordingUpload: Sendable {
    enum Event: Sendable {
        /// The catalogue can resume it.
        case offered
        /// It continues at this byte, after a pause or a lost connection.
        case resumed(at: Int64)
        /// This many bytes of the recording have been sent.
        case sent(Int64)
        /// The last event.
        case ended(Result<Recordings.Receipt, any Error>)
    }

    private let task: URLSessionUploadTask

    /// Begins at once.
    ///
    /// - Parameters:
    ///   - resumeData: From an earlier upload of `file`; nil to start from the beginning.
    ///   - report: Called on any thread, one event at a time.
    init(_ file: URL, to api: URL, resuming resumeData: Data?, report: @escaping @Sendable (Event) -> Void) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 20
        let session = URLSession(configuration: configuration, delegate: Watcher(report), delegateQueue: nil)
        if let resumeData {
            task = session.uploadTask(withResumeData: resumeData)
        } else {
            var request = URLRequest(url: api.appendingPathComponent("recordings"))
            request.httpMethod = "POST"
            request.setValue("audio/wav", forHTTPHeaderField: "Content-Type")
            task = session.uploadTask(with: request, fromFile: file)
        }
        task.resume()
        session.finishTasksAndInvalidate()
    }

    /// Ends it. Returns what another upload can resume from; nil if the catalogue hasn't offered that.
    func pause() async -> Data? {
        await task.cancelByProducingResumeData()
    }

    private final class Watcher: NSObject, URLSessionDataDelegate, Sendable {
        private struct Progress {
            var sent: Int64 = 0
            /// Whether the request sends only the rest.
            var isRest = false
            var body = Data()
        }

        private let report: @Sendable (Event) -> Void
        private let progress = Mutex(Progress())

        init(_ report: @escaping @Sendable (Event) -> Void) {
            self.report = report
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceiveInformationalResponse response: HTTPURLResponse
        ) {
            if response.statusCode == 104 { report(.offered) }
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didSendBodyData bytesSent: Int64,
            totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            let start = totalBytesSent - bytesSent
            let isRest = task.currentRequest?.httpMethod == "PATCH"
            let isResumed = progress.withLock { progress in
                defer { (progress.sent, progress.isRest) = (totalBytesSent, isRest) }
                return isRest && (!progress.isRest || start != progress.sent)
            }
            if isResumed { report(.resumed(at: start)) }
            report(.sent(totalBytesSent))
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            progress.withLock { $0.body += data }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let body = progress.withLock { $0.body }
            report(.ended(Result { try Self.receipt(body, task.response, error) }))
        }

        private static func receipt(_ body: Data, _ response: URLResponse?, _ error: (any Error)?) throws
            -> Recordings.Receipt
        {
            if let error { throw error }
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            guard status == 201 else { throw UploadError.status(status) }
            guard let receipt = try? JSONDecoder().decode(Recordings.Receipt.self, from: body) else {
                throw UploadError.notUnderstood
            }
            return receipt
        }
    }
}

enum UploadError: LocalizedError, Equatable {
    case status(Int)
    case notUnderstood
    case notTheSame

    var errorDescription: String? {
        switch self {
        case .status(let status): "the catalogue answered with status \(status)"
        case .notUnderstood: "the catalogue's answer isn't a receipt"
        case .notTheSame: "the catalogue has received something else"
        }
    }
}
