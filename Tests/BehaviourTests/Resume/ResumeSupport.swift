import CurlNetworking
import Foundation
import TestSupport
import Testing

@testable import CurlNetworkingLoopbackServer

/// A server of one file, whose first answer stops in the middle and waits: the place where downloads are paused or cut.
struct ResumeOrigin: Sendable {
    typealias Request = LoopbackServer.Request
    typealias Response = LoopbackServer.Response

    static let length: Int64 = 400_000
    static let heldAt: Int64 = 150_000
    static let etag = "\"version-1\""
    /// Long ago, as HTTP writes it.
    static let lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// The file, and what it is after it has changed.
    static let body = LoopbackServer.Body.generated(length: length, seed: 1)
    static let bytes = GeneratedBody.bytes(seed: 1, length: Int(length))
    static let changedBody = LoopbackServer.Body.generated(length: length, seed: 2)
    static let changedBytes = GeneratedBody.bytes(seed: 2, length: Int(length))

    let server: LoopbackServer
    /// Lets the first answer go on.
    let gate: Gate

    /// - Parameters:
    ///   - first: The fields of the first answer.
    ///   - isChunked: Whether the first answer comes in chunks, without a length.
    ///   - ending: What the first answer does in the middle instead of waiting for the gate.
    ///   - next: Answers all further requests; by default like a good server.
    init(
        first: KeyValuePairs<String, String> = ["ETag": etag, "Accept-Ranges": "bytes"],
        isChunked: Bool = false,
        heldAt: Int64 = heldAt,
        ending: LoopbackServer.Step? = nil,
        next: @escaping @Sendable (Request) -> Response = { .resource(body, for: $0, etag: etag) }
    ) throws {
        let gate = Gate()
        let fields = first.map { (name: $0.key, value: $0.value) }
        let steps: [LoopbackServer.Step] = [
            .body(Self.body[0..<heldAt]), ending ?? .waitFor(gate), .body(Self.body[heldAt..<Self.length]),
        ]
        server = try LoopbackServer { request in
            guard request.ordinal == 1 else { return next(request) }
            return fields.reduce(isChunked ? Response.chunked(steps) : .pieces(steps)) { $0.header($1.name, $1.value) }
        }
        self.gate = gate
    }

    var url: URL { server.url("/file") }
}

/// A download that was paused with something to resume from.
struct PausedDownload: Sendable {
    /// Held, so that it answers until the download is resumed.
    let origin: ResumeOrigin
    let resumeData: Data
    let directory: TemporaryDirectory

    /// Downloads from `origin` up to where it stops, and pauses there.
    init(from origin: ResumeOrigin, _ request: URLRequest? = nil, offset: Int64 = ResumeOrigin.heldAt) async throws {
        let directory = try TemporaryDirectory()
        let data = try await Self.pause(request ?? URLRequest(url: origin.url), at: offset, in: directory)
        resumeData = try #require(data)
        self.origin = origin
        self.directory = directory
    }

    /// Starts a download and pauses it at its first bytes. The session keeps it slow: a server that holds nothing back could be done before a
    /// busy machine gets round to pausing.
    static func pauseEarly(_ request: URLRequest, in directory: TemporaryDirectory) async throws -> Data? {
        try await pause(request, at: 1, in: directory) { configuration in
            configuration.curl.configureTransfer = { transfer, _ in
                try transfer.set("BUFFERSIZE", 16 * 1024)
                try transfer.set("MAX_RECV_SPEED_LARGE", 2_000_000)
            }
        }
    }

    /// Starts a download and pauses it when so many bytes have been written.
    static func pause(
        _ request: URLRequest,
        at offset: Int64,
        in directory: TemporaryDirectory,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> Data? {
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate, configure)
        let task = session.downloadTask(with: request)
        task.resume()
        try await delegate.wait(for: task) { $0.isWritten(upTo: offset) }
        let data = await task.cancelByProducingResumeData()
        _ = try await delegate.completion(of: task)
        return data
    }

    /// The one file in the directory.
    var partialFile: URL {
        get throws {
            try #require(directory.content.count == 1)
            return directory.url.appendingPathComponent(directory.content[0], isDirectory: false)
        }
    }

    /// Resumes, and returns when that has come to an end.
    func resume(_ data: Data? = nil) async throws -> ResumedDownload {
        try await ResumedDownload(data ?? resumeData, in: directory)
    }
}

/// A resumed download that has come to an end.
struct ResumedDownload: Sendable {
    let task: URLSessionDownloadTask
    let error: URLError?
    let body: Data?
    let events: [DelegateEvent]
    let story: [String]

    init(_ resumeData: Data, in directory: TemporaryDirectory) async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forDownloads(to: directory, delegate: delegate)
        task = session.downloadTask(withResumeData: resumeData)
        task.resume()
        error = try await delegate.completion(of: task)
        body = delegate.body(of: task)
        events = delegate.events(of: task)
        story = delegate.story(of: task)
        session.finishTasksAndInvalidate()
    }

    var hasContinued: Bool { story.contains("resumed") }
}

extension DelegateEvent {
    func isWritten(upTo offset: Int64) -> Bool {
        if case .wrote(_, let total, _) = self { total >= offset } else { false }
    }
}

extension LoopbackServer.Response {
    /// The same as a 206 for this `Content-Range`, right or wrong.
    func partial(_ contentRange: String?) -> Self {
        status(206, contentRange: contentRange)
    }

    /// The same with another status.
    func status(_ status: Int, contentRange: String?) -> Self {
        let response = changing {
            $0.status = status
            $0.reason = ""
        }
        return contentRange.map { response.header("Content-Range", $0) } ?? response
    }
}
