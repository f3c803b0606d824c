import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage
import Synchronization

/// A delegate of every kind that notes every call, with a task's description as its lane.
///
/// How many pieces a body comes in is nobody's promise: consecutive messages about bytes are one event.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate {
    /// What the delegate does besides noting. Set before the first task is resumed.
    struct Behaviour: Sendable {
        /// How it answers a response; nil: it calls the handler itself, through `heldResponse`.
        var disposition: URLSession.ResponseDisposition? = .allow
        /// What it does when the response arrives, before it answers.
        var onResponse: @Sendable (URLSessionDataTask) -> Void = { _ in }
        /// What it does when the first bytes arrive.
        var onData: @Sendable (URLSessionTask) -> Void = { _ in }
        var bodyStream: @Sendable () -> InputStream? = { nil }
        var onFile: @Sendable (URL) -> Void = { _ in }
    }

    private struct State {
        var pending: [String: Pending] = [:]
        var counts: [String: Int] = [:]
        var waiters: [(name: String, count: Int, gate: Gate)] = []
        var heldResponse: (@Sendable (URLSession.ResponseDisposition) -> Void)?
    }

    /// Bytes of one lane that were announced since the last other event.
    private enum Pending {
        case received(Data)
        case sent(total: Int64, expected: Int64)
        case wrote(total: Int64, expected: Int64)
    }

    private let stage: Stage
    private let behaviour: Behaviour
    private let state = Mutex(State())

    init(_ stage: Stage, _ behaviour: Behaviour = Behaviour()) {
        self.stage = stage
        self.behaviour = behaviour
    }

    // MARK: - Waiting

    /// Returns when so many tasks have completed.
    func completions(_ count: Int = 1) async throws {
        try await calls("didComplete", count)
    }

    /// Returns when so many web sockets are open, or will never be.
    func openings(_ count: Int = 1) async throws {
        try await calls(Self.opening, count)
    }

    private static let opening = "the end of opening"

    /// Returns when the session has become invalid.
    func invalidation() async throws {
        try await calls("didBecomeInvalid")
    }

    /// Returns when so many calls of this name have been made.
    func calls(_ name: String, _ count: Int = 1) async throws {
        let gate = Gate()
        let isReached = state.withLock { state in
            if state.counts[name, default: 0] >= count { return true }
            state.waiters.append((name, count, gate))
            return false
        }
        if !isReached { try await gate.wait() }
    }

    /// Answers the response that was held.
    func answerResponse(_ disposition: URLSession.ResponseDisposition) {
        state.withLock { state in
            defer { state.heldResponse = nil }
            return state.heldResponse
        }?(disposition)
    }

    // MARK: - Noting

    private func lane(_ task: URLSessionTask) -> String { task.taskDescription ?? "client" }

    private func note(_ name: String, _ details: [String: String] = [:], _ task: URLSessionTask? = nil) {
        let lane = task.map(lane) ?? "client"
        notePending(lane)
        stage.note(name, details, lane: lane)
        count(name)
    }

    private func count(_ name: String) {
        let gates = state.withLock { state in
            let count = state.counts[name, default: 0] + 1
            state.counts[name] = count
            let reached = state.waiters.filter { $0.name == name && $0.count <= count }
            state.waiters.removeAll { $0.name == name && $0.count <= count }
            return reached.map(\.gate)
        }
        for gate in gates { gate.open() }
    }

    private func notePending(_ lane: String) {
        switch state.withLock({ $0.pending.removeValue(forKey: lane) }) {
        case .received(let data): stage.note("didReceive data", ["body": Text.body(data)], lane: lane)
        case .sent(let total, let expected):
            stage.note("didSend", ["total": "\(total)", "expected": "\(expected)"], lane: lane)
        case .wrote(let total, let expected):
            stage.note("didWrite", ["total": "\(total)", "expected": "\(expected)"], lane: lane)
        case nil: break
        }
    }

    /// Notes what is pending, where a scenario wants to say that something comes after it.
    func settle() {
        for lane in state.withLock({ $0.pending.keys.sorted() }) { notePending(lane) }
    }

    // MARK: - Session

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("didBecomeInvalid", Describe.error(error))
    }

    // MARK: - Tasks

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note("didComplete", Describe.error(error), task)
        count(Self.opening)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let lane = lane(task)
        let isContinued = state.withLock { state in
            if case .sent = state.pending[lane] { true } else { state.pending[lane] == nil }
        }
        if !isContinued { notePending(lane) }
        state.withLock { $0.pending[lane] = .sent(total: totalBytesSent, expected: totalBytesExpectedToSend) }
        count("didSend")
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note("needNewBodyStream", [:], task)
        completionHandler(behaviour.bodyStream())
    }

    // MARK: - Data

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if behaviour.disposition == nil { state.withLock { $0.heldResponse = completionHandler } }
        note("didReceive response", Describe.response(response), dataTask)
        behaviour.onResponse(dataTask)
        if let disposition = behaviour.disposition { completionHandler(disposition) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let lane = lane(dataTask)
        let (isContinued, isFirst) = state.withLock { state in
            if case .received = state.pending[lane] { (true, false) } else { (state.pending[lane] == nil, true) }
        }
        if !isContinued { notePending(lane) }
        state.withLock { state in
            if case .received(let before) = state.pending[lane] {
                state.pending[lane] = .received(before + data)
            } else {
                state.pending[lane] = .received(data)
            }
        }
        count("didReceive data")
        if isFirst { behaviour.onData(dataTask) }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        note("didBecome download", [:], dataTask)
    }

    // MARK: - Web sockets

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        note("didOpen", ["protocol": `protocol` ?? "none"], webSocketTask)
        count(Self.opening)
    }

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        let reason = reason.map { String(decoding: $0, as: UTF8.self) } ?? "none"
        note("didClose", ["code": "\(closeCode.rawValue)", "reason": reason], webSocketTask)
    }

    // MARK: - Downloads

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        let lane = lane(downloadTask)
        let (isContinued, isFirst) = state.withLock { state in
            if case .wrote = state.pending[lane] { (true, false) } else { (state.pending[lane] == nil, true) }
        }
        if !isContinued { notePending(lane) }
        state.withLock {
            $0.pending[lane] = .wrote(total: totalBytesWritten, expected: totalBytesExpectedToWrite)
        }
        count("didWrite")
        if isFirst { behaviour.onData(downloadTask) }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("didResume", ["offset": "\(fileOffset)", "expected": "\(expectedTotalBytes)"], downloadTask)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        note("didFinishDownloading", ["file": Describe.file(location)], downloadTask)
        behaviour.onFile(location)
    }
}
