import CurlNetworking
import Foundation
import TestSupport

/// `faults PORT TLS-PORT AUTHORITY FOLDER AGENT`: does what sessions can do, one after the other, against the `FaultServer` at this port,
/// and against the nginx before it that has a certificate of this authority's. Says what each came to, in a line: "STEP success", "STEP
/// wrong" or "STEP error DOMAIN CODE TEXT". Then it says "end", and waits to be looked at.
///
/// In the folder it needs `temporary` and `output`, where the downloads' files go.
final class FaultCommand: Sendable {
    private let server: Int
    private let secureServer: Int
    private let folder: URL
    private let agent: URL
    private let invalidation = Invalidation()
    private let session: URLSession

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 5, let port = Int(arguments[0]), let securePort = Int(arguments[1]) else {
            throw Usage(text: "faults PORT TLS-PORT AUTHORITY FOLDER AGENT")
        }
        let files = arguments.dropFirst(2).map { URL(fileURLWithPath: $0) }
        await FaultCommand(port, securePort, authority: files[0], folder: files[1], agent: files[2]).run()
        Parent.say("end")
        for await _ in Parent.lines { break }
    }

    private init(_ server: Int, _ secureServer: Int, authority: URL, folder: URL, agent: URL) {
        (self.server, self.secureServer, self.folder, self.agent) = (server, secureServer, folder, agent)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = CurlURLCache(
            memoryCapacity: 0,
            diskCapacity: 1 << 24,
            diskPath: folder.appendingPathComponent("cache").path
        )
        // Its file is below the home directory.
        configuration.httpCookieStorage = .sharedCookieStorage(forGroupContainerIdentifier: "faults")
        configuration.curl.tls.additionalTrustRoots = [.file(authority)]
        Self.limit(configuration, folder)
        configuration.timeoutIntervalForRequest = Self.timeout
        session = URLSession(configuration: configuration, delegate: invalidation, delegateQueue: nil)
    }

    /// The time-out of what isn't tried again: only names are to take longer (`slowness` in `faults.c`), and a busy machine mustn't.
    private static let timeout: TimeInterval =
        ["names", "slow-names"].contains(ProcessInfo.processInfo.environment["FAULT"]) ? 2 : 5

    /// What never ends by itself ends by its time-out, which is an honest error.
    private static func limit(_ configuration: URLSessionConfiguration, _ folder: URL) {
        configuration.timeoutIntervalForRequest = 2
        configuration.timeoutIntervalForResource = 6
        configuration.curl.temporaryDirectory = folder.appendingPathComponent("temporary", isDirectory: true)
    }

    private func run() async {
        await step("data") { [self] in
            try await session.data(from: url("data")).0 == FaultServer.body("data")
        }
        await step("download") { [self] in
            try keep(await session.download(from: url("download")).0, as: "download")
        }
        await step("upload") { [self] in try await upload() }
        await step("interrupted-upload") { [self] in
            try await session.upload(for: post("interrupted-upload"), fromFile: uploadedFile).0 == restOfUpload
        }
        await step("paused-upload") { [self] in try await pausedUpload() == restOfUpload }
        await step("cache") { [self] in
            let bodies = [try await session.data(from: url("cache")).0, try await session.data(from: url("cache")).0]
            await session.flush()
            return bodies.allSatisfy { $0 == FaultServer.body("cache") }
        }
        await step("resume") { [self] in try keep(await resume(), as: "resume") }
        await step("cookies") { [self] in
            let fields = [
                try await session.data(from: url("cookies")).0, try await session.data(from: url("cookies")).0,
            ]
            await session.flush()
            return fields == [Data(), Data("name=value".utf8)]
        }
        await step("tls") { [self] in
            try await session.data(from: FaultServer.secureURL("tls", server, secureServer)).0
                == FaultServer.body("tls")
        }
        await step("stream") { [self] in try await stream("stream", url("stream")) }
        await step("secure-stream") { [self] in
            try await stream("secure-stream", FaultServer.secureURL("secure-stream", server, secureServer))
        }
        await step("web-socket") { [self] in try await talk() }
        await step("end-of-session") { [self] in
            session.finishTasksAndInvalidate()
            await invalidation.wait()
            return true
        }
        await runInBackground()
    }

    private func step(_ name: String, _ body: () async throws -> Bool) async {
        do {
            Parent.say("\(name) \(try await body() ? "success" : "wrong")")
        } catch {
            Self.report(name, error)
        }
    }

    private static func report(_ name: String, _ error: any Error) {
        let text = error.localizedDescription.replacingOccurrences(of: "\n", with: " ")
        let data = (error as? URLError).flatMap { $0.downloadTaskResumeData ?? $0.uploadTaskResumeData }
        let note = data == nil ? "" : "(resumable) "
        Parent.say("\(name) error \((error as NSError).domain) \((error as NSError).code) \(note)\(text)")
    }

    private func url(_ name: String, scheme: String = "http") -> URL {
        FaultServer.url(name, port: server, scheme: scheme)
    }

    /// True if the file is in its place.
    private func keep(_ file: URL, as name: String) throws -> Bool {
        let place = folder.appendingPathComponent("output/\(name)")
        do {
            try FileManager.default.moveItem(at: file, to: place)
        } catch {
            // It is this program's now, as is the fault.
            try? FileManager.default.removeItem(at: file)
            throw error
        }
        return true
    }

    private var uploadedFile: URL { folder.appendingPathComponent("upload") }

    private func post(_ name: String) -> URLRequest {
        var request = URLRequest(url: url(name))
        request.httpMethod = "POST"
        return request
    }

    private func upload() async throws -> Bool {
        try await session.upload(for: post("echo"), fromFile: uploadedFile).0 == FaultServer.body("upload")
    }

    private var restOfUpload: Data { FaultServer.body("upload").dropFirst(FaultServer.uploaded) }

    /// Its body waits in a file until it is resumed.
    private func pausedUpload() async throws -> Data {
        let body = FaultServer.body("upload")
        do {
            return try await session.upload(for: post("paused-upload"), from: body, delegate: Pausing()).0
        } catch let error as URLError {
            guard let data = error.uploadTaskResumeData else { throw error }
            return try await session.upload(resumeFrom: data).0
        }
    }

    /// Pauses an upload as soon as that can be resumed.
    private final class Pausing: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceiveInformationalResponse response: HTTPURLResponse
        ) {
            (task as? URLSessionUploadTask)?.cancel { _ in }
        }
    }

    /// The server cuts the first answer off.
    private func resume() async throws -> URL {
        do {
            return try await session.download(from: url("resume")).0
        } catch let error as URLError {
            guard let data = error.downloadTaskResumeData else { throw error }
            return try await session.download(resumeFrom: data).0
        }
    }

    private func talk() async throws -> Bool {
        let task = session.webSocketTask(with: url("web-socket", scheme: "ws"))
        defer { task.cancel(with: .normalClosure, reason: nil) }
        task.resume()
        try await task.send(.data(FaultServer.body("message")))
        guard case .data(let message) = try await task.receive() else { return false }
        return message == FaultServer.body("message")
    }

    /// Asks for `url` as a browser of old.
    private func stream(_ name: String, _ url: URL) async throws -> Bool {
        let task = session.streamTask(withHostName: url.host ?? "", port: url.port ?? 0)
        defer { task.cancel() }
        if url.scheme == "https" { task.startSecureConnection() }
        task.resume()
        try await task.write(Data("GET \(url.path) HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8), timeout: Self.timeout)
        var (answer, isAtEnd) = (Data(), false)
        while !isAtEnd {
            let (data, isLast) = try await task.readData(ofMinLength: 1, maxLength: 1 << 20, timeout: Self.timeout)
            answer += data ?? Data()
            isAtEnd = isLast
        }
        return answer.suffix(FaultServer.body(name).count) == FaultServer.body(name)
    }

    private func runInBackground() async {
        let configuration = URLSessionConfiguration.background(withIdentifier: "faults")
        configuration.curl.background.folder = folder.appendingPathComponent("state", isDirectory: true)
        configuration.curl.background.agent = agent
        configuration.curl.background.idleTime = .milliseconds(200)
        Self.limit(configuration, folder)
        let listener = BackgroundListener(self)
        let session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
        let tasks = [
            session.downloadTask(with: url("background-download")),
            session.uploadTask(with: post("echo"), fromFile: uploadedFile),
        ]
        for (task, name) in zip(tasks, ["background-download", "background-upload"]) {
            task.taskDescription = name
            task.resume()
        }
        session.finishTasksAndInvalidate()
        await listener.wait()
        Parent.say("end-of-background success")
    }

    /// Waits for the end of a session.
    private class Invalidation: NSObject, URLSessionDelegate, @unchecked Sendable {
        // @unchecked is true because nothing of it changes.
        private let pair = AsyncStream<Void>.makeStream()

        func wait() async {
            for await _ in pair.stream {}
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            pair.continuation.finish()
        }
    }

    private final class BackgroundListener: Invalidation, URLSessionDownloadDelegate, URLSessionDataDelegate,
        @unchecked Sendable
    {
        // @unchecked is true because only the delegate queue touches what changes.
        private let command: FaultCommand
        private var received: [Int: Data] = [:]
        private var outcomes: [Int: Result<Bool, any Error>] = [:]

        init(_ command: FaultCommand) {
            self.command = command
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {
            outcomes[downloadTask.taskIdentifier] = Result {
                try command.keep(location, as: downloadTask.taskDescription ?? "")
            }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            received[dataTask.taskIdentifier, default: Data()] += data
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let name = task.taskDescription ?? ""
            let body = received[task.taskIdentifier]
            let outcome = outcomes[task.taskIdentifier] ?? .success(body == FaultServer.body("upload"))
            switch (error, outcome) {
            case (let error?, _), (nil, .failure(let error)): FaultCommand.report(name, error)
            case (nil, .success(let isRight)): Parent.say("\(name) \(isRight ? "success" : "wrong")")
            }
        }
    }
}
