import CurlNetworking
import CurlNetworkingLocks
import Foundation

/// An upload of a recording to a catalogue.
struct RecordingUpload: Sendable {
    enum Event: Sendable {
        /// The catalogue can resume the upload.
        case offered
        /// It continues at this byte, after a pause or a lost connection.
        case resumed(at: Int64)
        /// This many bytes of the recording have been sent.
        case sent(Int64)
        /// The last event.
        case ended(Result<Recordings.Receipt, any Error>)
    }

    private let task: URLSessionUploadTask

    /// Starts at once.
    ///
    /// - Parameters:
    ///   - resumeData: From an earlier upload of `file` with the same folder; nil to start from the beginning.
    ///   - folder: Where the session keeps what it needs to resume; without one, the upload can't be resumed.
    ///   - report: Called on any thread, one event at a time.
    init(
        _ file: URL,
        to api: URL,
        resuming resumeData: Data? = nil,
        from folder: URL?,
        report: @escaping @Sendable (Event) -> Void
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 20
        if let folder {
            configuration.curl.temporaryDirectory = folder
        } else {
            configuration.curl.uploadInteropVersion = nil
        }
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

    /// Ends the upload. Returns the data from which another can resume; nil if the catalogue hasn't offered that.
    func pause() async -> Data? {
        await task.cancelByProducingResumeData()
    }

    private final class Watcher: NSObject, URLSessionDataDelegate, Sendable {
        /// In bytes: far more than a receipt.
        private static let longestResponse = 1 << 16

        private struct Progress {
            /// The offset stated by the last request that sent the rest of a body.
            var offset: String?
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
            // The request says where it continues. Bytes resent because they were lost don't count.
            let request = task.currentRequest
            let offset = request?.httpMethod == "PATCH" ? request?.value(forHTTPHeaderField: "Upload-Offset") : nil
            let resumed = progress.withLock { progress in
                defer { progress.offset = offset }
                return offset == progress.offset ? nil : offset.flatMap { Int64($0) }
            }
            if let resumed { report(.resumed(at: resumed)) }
            report(.sent(totalBytesSent))
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            let length = progress.withLock { progress in
                progress.body += data
                return progress.body.count
            }
            if length > Self.longestResponse { dataTask.cancel() }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let body = progress.withLock { $0.body }
            report(.ended(Result { try Self.receipt(body, task.response, error) }))
        }

        private static func receipt(_ body: Data, _ response: URLResponse?, _ error: (any Error)?) throws
            -> Recordings.Receipt
        {
            guard body.count <= longestResponse else { throw UploadError.notUnderstood }
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
    case noFile(String)
    case notPrivate(String)

    var errorDescription: String? {
        switch self {
        case .status(let status): "the catalogue answered with status \(status)"
        case .notUnderstood: "the catalogue's answer isn't a receipt"
        case .notTheSame: "the catalogue has received something else"
        case .noFile(let path): "there is no file \(path)"
        case .notPrivate(let path): "\(path) isn't a folder that only you have access to"
        }
    }
}
