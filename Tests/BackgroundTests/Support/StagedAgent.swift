import Foundation
import Glibc
import TestSupport

@testable import CurlNetworking

/// Stands in for a folder's agent: it hears everything, and says what the test has it say.
///
/// `@unchecked Sendable`: what changes is used only on its queue.
final class StagedAgent: @unchecked Sendable {
    private typealias Channel = MessageChannel<ClientMessage, AgentMessage>

    let folder: StateFolder
    /// What programs have said, over all connections.
    private let heard = Watched<[ClientMessage]>([])
    /// How many connections programs have closed.
    private let lost = Watched(0)
    private let queue = DispatchQueue(label: "StagedAgent")
    private let listener: any DispatchSourceRead
    /// The last one.
    private var channel: Channel?

    init(in url: URL) throws {
        folder = StateFolder(url)
        try folder.prepare()
        let socket = try UnixSocket.listen(StateFolder.socketName, in: folder.url)
        listener = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
        listener.setCancelHandler { close(socket) }
        listener.setEventHandler { [weak self] in self?.accept(socket) }
        listener.resume()
    }

    private func accept(_ socket: Int32) {
        let descriptor = Glibc.accept(socket, nil, nil)
        guard descriptor >= 0 else { return }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        channel = try? Channel(descriptor, on: queue) { [heard] messages in
            heard.update { $0 += messages }
        } ended: { [lost] _ in
            lost.update { $0 += 1 }
        }
    }

    /// To be called after the rig's `end()`: a program that loses its agent looks for another.
    func stop() {
        hangUp()
        queue.sync { listener.cancel() }
    }

    func hangUp() {
        queue.sync {
            channel?.close()
            channel = nil
        }
    }

    /// It hears nothing, and can't say anything, until `readOn()`.
    func stopReading() {
        queue.suspend()
    }

    func readOn() {
        queue.resume()
    }

    /// How often programs have said hello.
    var helloCount: Int {
        heard.value.filter { if case .hello = $0 { true } else { false } }.count
    }

    func say(_ messages: [AgentMessage]) {
        queue.sync { for message in messages { channel?.send(message) } }
    }

    /// Returns when programs have said at least `count` such things; all of them.
    private func wait<Thing>(
        for count: Int,
        _ thing: @escaping @Sendable (ClientMessage) -> Thing?
    ) async throws -> [Thing] {
        try await heard.wait { $0.compactMap(thing).count >= count }
        return heard.value.compactMap(thing)
    }

    /// Answers the program's hello number `number`.
    func greet(_ number: Int = 1, with messages: [AgentMessage] = [.welcome]) async throws {
        _ = try await wait(for: number) { message -> Bool? in if case .hello = message { true } else { nil } }
        say(messages)
    }

    /// Returns when a program has closed its connection.
    func goodbye() async throws {
        try await lost.wait { $0 > 0 }
    }

    func submissions(_ count: Int) async throws -> [TaskSubmission] {
        try await wait(for: count) { if case .submit(let submission) = $0 { submission } else { nil } }
    }

    func acknowledgements(_ count: Int) async throws -> [UUID] {
        try await wait(for: count) { if case .acknowledge(let key) = $0 { key } else { nil } }
    }

    func intents(_ count: Int) async throws -> [TaskIntent] {
        try await wait(for: count) { if case .intent(_, let intent) = $0 { intent } else { nil } }
    }

    func replies(_ count: Int) async throws -> [ChallengeReply] {
        try await wait(for: count) { if case .answer(_, let reply) = $0 { reply } else { nil } }
    }
}

extension AgentMessage {
    /// The end of a task that has failed.
    static func failure(
        of submission: TaskSubmission,
        _ code: URLError.Code,
        at resource: UploadResource? = nil
    ) -> Self {
        .ended(submission.key, TaskEnding(submission, code, at: resource))
    }
}

extension TaskEnding {
    init(_ submission: TaskSubmission, _ code: URLError.Code, at resource: UploadResource? = nil) {
        let error = ErrorDescription(URLError(code))
        self.init(error: error, upload: resource, progress: TaskProgress(key: submission.key))
    }
}
