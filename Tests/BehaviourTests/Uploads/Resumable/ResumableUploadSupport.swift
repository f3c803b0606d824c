import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport

/// A delegate of uploads that notes what it hears, opens a gate at the first 104, and gives streams of the body from any offset.
final class UploadDelegate: NSObject, URLSessionDataDelegate {
    struct Record: Sendable {
        var informational: [Int] = []
        var sent: [[Int64]] = []
        var streams: [Int64] = []
        var body = Data()
        var completions: [URLError?] = []
        var challenges = 0
    }

    let record = Watched(Record())
    /// Open once the task knows that it can be resumed.
    let offered = Gate()
    private let content: Data
    private let credential: URLCredential?

    init(_ content: Data = Data(), credential: URLCredential? = nil) {
        (self.content, self.credential) = (content, credential)
    }

    func completion() async throws -> URLError? {
        try await record.wait { !$0.completions.isEmpty }
        return record.value.completions[0]
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        record.update { $0.informational.append(response.statusCode) }
        if response.statusCode == 104 { offered.open() }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        record.update { $0.sent.append([bytesSent, totalBytesSent, totalBytesExpectedToSend]) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        stream(from: 0, completionHandler)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        stream(from: offset, completionHandler)
    }

    /// As a delegate does it that reads up to the offset: the stream is open, and at its end if nothing follows.
    private func stream(from offset: Int64, _ completionHandler: (InputStream?) -> Void) {
        record.update { $0.streams.append(offset) }
        let stream = InputStream(data: content)
        if offset > 0 {
            stream.open()
            var skipped = [UInt8](repeating: 0, count: Int(offset))
            _ = stream.read(&skipped, maxLength: skipped.count)
        }
        completionHandler(stream)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        record.update { $0.challenges += 1 }
        completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        record.update { $0.body.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.update { $0.completions.append(error.map { $0 as? URLError ?? URLError(.unknown) }) }
    }
}

/// A server with a resumable upload, and a session to upload to it.
struct UploadRig: Sendable {
    static let length = 1_000_000
    static let content = GeneratedBody.bytes(seed: 104, length: length)

    let content: Data
    let upload: LoopbackServer.ResumableUpload
    let delegate: UploadDelegate
    let rig: Rig
    let directory: TemporaryDirectory

    /// - Parameters:
    ///   - content: What is uploaded.
    ///   - heldAt: How much the server takes of the first request: then it keeps silent.
    ///   - heldAgainAt: The same for the second request with a part of the body.
    ///   - cuts: Where later connections are reset, once the task knows that it can be resumed: a reset takes with it what the task has not
    ///     read.
    ///   - offered: Says that, if the task isn't one of the rig's.
    ///   - limit: How much the server lets a request append, in bytes.
    ///   - handler: Answers instead of the upload, where it answers at all.
    init(
        _ content: Data = Self.content,
        version: Int = 6,
        offers: Int? = nil,
        location: String? = nil,
        heldAt: Int64? = nil,
        heldAgainAt: Int64? = nil,
        cuts: [Int64] = [],
        after offered: Gate? = nil,
        limit: Int? = nil,
        credential: URLCredential? = nil,
        handler: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Response? = { _ in nil }
    ) throws {
        let directory = try TemporaryDirectory()
        let delegate = UploadDelegate(content, credential: credential)
        let held = [heldAt, heldAgainAt].compactMap { offset in
            offset.map { LoopbackServer.ResumableUpload.Cut(at: $0, after: Gate()) }
        }
        let cuts =
            held + cuts.map { LoopbackServer.ResumableUpload.Cut(at: $0, after: offered ?? delegate.offered) }
        let upload = LoopbackServer.ResumableUpload(version: version, location: location, limit: limit, cuts: cuts)
        self.content = content
        self.upload = upload
        self.delegate = delegate
        self.directory = directory
        rig = try Rig(
            answering: .atHead,
            delegate: delegate,
            handler: { handler($0) ?? upload.respond(to: $0) },
            configure: { configuration in
                configuration.curl.temporaryDirectory = directory.url
                configuration.curl.uploadInteropVersion = offers ?? version
            }
        )
    }

    var session: URLSession { rig.session }
    var server: LoopbackServer { rig.server }

    func request(_ headers: [String: String] = [:]) -> URLRequest {
        URLRequest(rig.url("/files"), method: "POST", headers: headers)
    }

    /// Requests as "METHOD path", in order.
    var requests: [String] { server.requests.map { "\($0.method) \($0.path)" } }

    enum Kind: CaseIterable { case data, file, stream }

    func task(_ kind: Kind, _ headers: [String: String] = [:]) throws -> URLSessionUploadTask {
        let request = request(headers)
        return switch kind {
        case .data: session.uploadTask(with: request, from: content)
        case .file: session.uploadTask(with: request, fromFile: try directory.file(content))
        case .stream: session.uploadTask(withStreamedRequest: request)
        }
    }

    /// Uploads until the server, which holds there, has `count` bytes at least, and cancels with resume data.
    func pause(_ kind: Kind, at count: Int64, _ headers: [String: String] = [:]) async throws -> Data? {
        let task = try task(kind, headers)
        task.resume()
        try await delegate.offered.wait()
        try await server.waitForBodyBytesReceived(count)
        return await task.cancelByProducingResumeData()
    }

    func stop() { rig.stop() }
}
