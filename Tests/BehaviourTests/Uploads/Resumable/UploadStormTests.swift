import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// Uploads to a server that offers to resume them, loses connections, refuses, and keeps silent. They are cancelled, paused or invalidated
/// at random moments: while the server is asked, before it is asked again, while the rest is sent, while the delegate is asked for a
/// stream.
@Suite("Resumable uploads that are interrupted at random moments", .timeLimit(.minutes(2)))
struct UploadStormTests {
    @Test("Interrupted uploads end once each, go on where they left resume data, and leave no file behind")
    func storm() async throws {
        let storm = try UploadStorm()
        defer { storm.server.stop() }
        for round in 0..<6 { try await storm.run(round, isFresh: round < 4) }
        storm.calmDown()
        try await storm.finish()
        #expect(storm.log.value.ends.values.allSatisfy { $0 == 1 })
        try await eventually { storm.directory.content == [] }
    }
}

private final class UploadStorm: Sendable {
    private static let content = GeneratedBody.bytes(seed: 7, length: 200_000)
    /// How much the server takes of the first request.
    private static let cut: Int64 = 100_000

    struct Log: Sendable {
        /// What the server knows of an upload.
        struct Upload {
            var requests = 0
            var received: Int64 = 0
            /// It has accepted or refused the upload, of which nothing is kept then, even if the task was cancelled amid the answer.
            var isAnswered = false
        }

        var isCalm = false
        var uploads: [String: Upload] = [:]
        /// By the tasks' names: how often they have completed.
        var ends: [String: Int] = [:]
        /// The newest resume data of each upload that isn't over.
        var interrupted: [String: Data] = [:]
        /// How those ended that couldn't be resumed, though the server was calm.
        var failures: [String] = []
    }

    let server: LoopbackServer
    let directory: TemporaryDirectory
    private let sources: TemporaryDirectory
    let log: Watched<Log>

    init() throws {
        directory = try TemporaryDirectory()
        sources = try TemporaryDirectory()
        let log = Watched(Log())
        self.log = log
        server = try LoopbackServer(answering: .atHead) { request in
            let name = String(request.path.split(separator: "/").last ?? "")
            let (received, isCalm) = log.update { log in
                log.uploads[name, default: Log.Upload()].requests += 1
                return (log.uploads[name]?.received ?? 0, log.isCalm)
            }
            let chance = isCalm ? 1 : Int.random(in: 0..<10)
            if request.method == "PATCH", !isCalm, chance < 5 { log.update { $0.uploads[name]?.isAnswered = true } }
            switch (request.method, chance) {
            case ("HEAD", 0...5): return .status(204).header("Upload-Offset", "\(received)")
            case ("HEAD", 6): return .status(503)
            case ("PATCH", 0...3): return .text("done").header("Upload-Complete", "?1").after([.waitForBody])
            case ("PATCH", 4): return .status(409).after([.waitForBody])
            case ("HEAD", 7), ("PATCH", 5...6), ("POST", 0):
                // No request has to wait for another.
                log.update { $0.uploads[name]?.requests += 100 }
                return .never
            case ("POST", _):
                let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/\(name)", version: 6)
                return .raw([
                    .bytes(offer),
                    .receive(upTo: Self.cut) { request in
                        log.update { $0.uploads[name]?.received = min(request.bodyLength, Self.cut) }
                        return [.reset]
                    },
                ])
            default: return .fault(.beforeAnyByte, then: .reset)
            }
        }
    }

    func calmDown() {
        log.update { $0.isCalm = true }
    }

    /// Sixty uploads in a session, which ends with them: new ones, or those that have left resume data.
    func run(_ round: Int, isFresh: Bool) async throws {
        let delegate = Delegate(self)
        let session = session(delegate)
        let left = log.value.interrupted
        let names = isFresh ? (0..<60).map { "\(round)-\($0)" } : Array(left.keys.shuffled().prefix(60))
        await withTaskGroup(of: Void.self) { group in
            for (index, name) in names.enumerated() {
                let task: URLSessionUploadTask
                if isFresh {
                    task = make(index, name, session)
                } else if let data = left[name] {
                    task = session.uploadTask(withResumeData: data)
                } else {
                    continue
                }
                task.taskDescription = "\(name) \(round)"
                group.addTask { await self.interrupt(task, name) }
            }
        }
        session.invalidateAndCancel()
        try await delegate.isInvalid.wait { $0 }
        #expect(log.value.ends.keys.filter { $0.hasSuffix(" \(round)") }.count == names.count)
    }

    /// Resumes all that can be: the server is calm.
    func finish() async throws {
        let delegate = Delegate(self)
        let session = session(delegate)
        for (name, data) in log.value.interrupted {
            let task = session.uploadTask(withResumeData: data)
            task.taskDescription = "\(name) last"
            task.resume()
        }
        session.finishTasksAndInvalidate()
        try await delegate.isInvalid.wait { $0 }
        let log = log.value
        #expect(log.interrupted.keys.allSatisfy { log.uploads[$0]?.isAnswered == true }, "\(log.failures)")
    }

    private func session(_ delegate: Delegate) -> URLSession {
        .forTest(delegate: delegate) {
            $0.curl.temporaryDirectory = directory.url
            $0.httpMaximumConnectionsPerHost = 30
        }
    }

    private func make(_ index: Int, _ name: String, _ session: URLSession) -> URLSessionUploadTask {
        let request = URLRequest(server.url("/files/\(name)"), method: "POST")
        switch index % 3 {
        case 0: return session.uploadTask(with: request, from: Self.content)
        case 1:
            let file = sources.url.appendingPathComponent(name)
            _ = FileManager.default.createFile(atPath: file.path, contents: Self.content)
            return session.uploadTask(with: request, fromFile: file)
        default: return session.uploadTask(withStreamedRequest: request)
        }
    }

    /// Waits for some request of the task's, and then a little longer.
    private func interrupt(_ task: URLSessionUploadTask, _ name: String) async {
        let before = log.value.uploads[name]?.requests ?? 0
        let identity = task.taskDescription ?? ""
        let moment = Int.random(in: 0...3)
        task.resume()
        try? await log.wait { $0.ends[identity] != nil || ($0.uploads[name]?.requests ?? 0) >= before + moment }
        for _ in 0..<Int.random(in: 0...200) { await Task.yield() }
        switch Int.random(in: 0...4) {
        case 0: task.cancel()
        // The session's end comes for these.
        case 1 where moment < 3: break
        default: if let data = await task.cancelByProducingResumeData() { note(data, name) }
        }
    }

    private func note(_ data: Data, _ name: String) {
        log.update { $0.interrupted[name] = data }
    }

    private final class Delegate: NSObject, URLSessionDataDelegate {
        let isInvalid = Watched(false)
        private let storm: UploadStorm

        init(_ storm: UploadStorm) {
            self.storm = storm
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            give(0, completionHandler)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStreamFrom offset: Int64,
            completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            give(offset, completionHandler)
        }

        private func give(_ offset: Int64, _ completionHandler: @escaping @Sendable (InputStream?) -> Void) {
            let rest = UploadStorm.content.dropFirst(Int(offset))
            guard Bool.random() else { return completionHandler(InputStream(data: rest)) }
            DispatchQueue.global().async { completionHandler(InputStream(data: rest)) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let identity = task.taskDescription ?? ""
            let name = String(identity.split(separator: " ").first ?? "")
            if let data = (error as? URLError)?.uploadTaskResumeData { storm.note(data, name) }
            // A 503 leaves everything as it is.
            if error == nil, (task.response as? HTTPURLResponse)?.statusCode != 503 {
                storm.log.update { $0.interrupted[name] = nil }
            }
            storm.log.update { log in
                log.ends[identity, default: 0] += 1
                if log.isCalm, let error { log.failures.append("\(identity): \(error)") }
            }
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            isInvalid.update { $0 = true }
        }
    }
}
