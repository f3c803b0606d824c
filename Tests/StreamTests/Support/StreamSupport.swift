import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

/// Writes down what it hears of stream tasks, in order.
final class StreamRecorder: NSObject, URLSessionStreamDelegate, URLSessionDataDelegate {
    enum Event: Sendable, Equatable {
        case created
        case readClosed
        case writeClosed
        case captured
        case becameStream
        case waiting
        case delayed
        case completed(URLError.Code?)
    }

    struct Record: @unchecked Sendable {
        // @unchecked: the test alone uses the streams.
        var events: [Event] = []
        var streams: (input: InputStream, output: OutputStream)?
        var streamTask: URLSessionStreamTask?
        var challenges: [String] = []
        var error: URLError?
        var metrics: URLSessionTaskMetrics?
    }

    typealias ChallengeAnswer = (URLSession.AuthChallengeDisposition, URLCredential?)

    let record = Watched(Record())
    private let onChallenge: @Sendable (URLAuthenticationChallenge) -> ChallengeAnswer
    /// Holds up the decision about a response; nil for none.
    private let decision: Gate?

    init(
        decidesAfter decision: Gate? = nil,
        onChallenge: @escaping @Sendable (URLAuthenticationChallenge) -> ChallengeAnswer = { _ in
            (.performDefaultHandling, nil)
        }
    ) {
        self.decision = decision
        self.onChallenge = onChallenge
    }

    var events: [Event] { record.value.events }

    /// Returns when the event has come.
    func wait(for event: Event) async throws {
        try await record.wait { $0.events.contains(event) }
    }

    /// Returns when the task is over, with its error.
    func completion() async throws -> URLError? {
        try await record.wait { record in
            record.events.contains { if case .completed = $0 { true } else { false } }
        }
        return record.value.error
    }

    /// Adds an event that isn't the delegate's.
    func note(_ event: Event) {
        record.update { $0.events.append(event) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        record.update { $0.metrics = metrics }
    }

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) { note(.readClosed) }
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) { note(.writeClosed) }
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        note(.delayed)
        completionHandler(.continueLoading, nil)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { note(.waiting) }

    func urlSession(
        _ session: URLSession,
        streamTask: URLSessionStreamTask,
        didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        nonisolated(unsafe) let streams = (inputStream, outputStream)
        record.update { record in
            record.streams = streams
            record.events.append(.captured)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        record.update { record in
            record.streamTask = streamTask
            record.events.append(.becameStream)
        }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        decision?.waitBlocking()
        completionHandler(.becomeStream)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        record.update { $0.challenges.append(challenge.protectionSpace.authenticationMethod) }
        let (disposition, credential) = onChallenge(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let error = error.map { $0 as? URLError ?? URLError(.unknown) }
        record.update { record in
            record.error = error
            record.events.append(.completed(error?.code))
        }
    }
}

extension URLSessionStreamTask {
    /// Reads so many bytes, as text.
    func text(_ count: Int) async throws -> String {
        let (data, _) = try await readData(ofMinLength: count, maxLength: count, timeout: 0)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    /// Reads up to the next line end, which is not part of what is returned.
    func line() async throws -> String {
        var line = Data()
        while true {
            let (data, isAtEnd) = try await readData(ofMinLength: 1, maxLength: 1, timeout: 0)
            guard let byte = data?.first, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
            if isAtEnd { break }
        }
        return String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Has a `SwitchingServer` begin TLS, and begins it as well.
    func beginTLS(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await write("start\n")
        #expect(try await line() == "plain: start", sourceLocation: sourceLocation)
        startSecureConnection()
    }

    /// Reads to the end, as text.
    func rest() async throws -> String {
        var all = Data()
        while true {
            let (data, isAtEnd) = try await readData(ofMinLength: 1, maxLength: 4096, timeout: 0)
            all.append(data ?? Data())
            if isAtEnd { return String(decoding: all, as: UTF8.self) }
        }
    }

    func write(_ text: String) async throws {
        try await write(Data(text.utf8), timeout: 0)
    }
}

extension LoopbackServer {
    /// A server that sends back what it gets, and ends when the client does.
    static func echo() throws -> LoopbackServer {
        var options = Options()
        options.allowsHalfClose = true
        return try LoopbackServer(options: options) { _ in
            { event in
                if case .received(let data) = event { [.bytes(data)] } else { [] }
            }
        }
    }
}
