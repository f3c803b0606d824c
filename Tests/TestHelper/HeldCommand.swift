import CurlNetworking
import Foundation
import Synchronization
import TestSupport

/// `held URL COUNT`: with each line that it gets, one session makes so many requests for each of `waiting`, which isn't answered yet, and
/// `begun`, of whose body more is to come. Says "begun" with the head of each response; then it suspends the first task of them, and says
/// "held". Each task has a line "end NUMBER success" or "end NUMBER error CODE CURLCODE ERRNO". With the next line that it gets, it resumes
/// the suspended one, asks for `again` when that has ended, and says "over ANSWER TASKS", with how many tasks the session still has.
final class HeldCommand: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        var begun = 0
        var ended = 0
        var suspended: URLSessionTask?
    }

    private let state = Mutex(State())
    private let count: Int

    static func run(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let count = Int(arguments[1]) else {
            return Parent.say("held URL COUNT")
        }
        let command = HeldCommand(count)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = 2 * count
        let session = URLSession(configuration: configuration, delegate: command, delegateQueue: nil)
        var lines = Parent.lines.makeAsyncIterator()
        while await lines.next() != nil {
            command.state.withLock { $0 = State() }
            for name in ["waiting", "begun"] {
                for _ in 0..<count { session.dataTask(with: url.appendingPathComponent(name)).resume() }
            }
            _ = await lines.next()
            command.state.withLock { $0.suspended }?.resume()
            await command.allEnded.first { _ in true }
            let answer = try? await session.data(from: url.appendingPathComponent("again")).0
            ProcessUsage.trim()
            Parent.say("over \(String(decoding: answer ?? Data(), as: UTF8.self)) \(await session.allTasks.count)")
        }
    }

    private let pair = AsyncStream<Void>.makeStream()
    private var allEnded: AsyncStream<Void> { pair.stream }

    private init(_ count: Int) {
        self.count = count
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
        Parent.say("begun")
        let isLast = state.withLock { state in
            state.begun += 1
            if state.begun == 1 { state.suspended = dataTask }
            return state.begun == count
        }
        guard isLast else { return }
        state.withLock { $0.suspended }?.suspend()
        session.getAllTasks { _ in Parent.say("held") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard task.originalRequest?.url?.lastPathComponent != "again" else { return }
        Parent.say("end \(task.taskIdentifier) \(Self.outcome(error))")
        let ended = state.withLock { state in
            state.ended += 1
            return state.ended
        }
        if ended == 2 * count { pair.continuation.yield() }
    }

    private static func outcome(_ error: (any Error)?) -> String {
        guard let error else { return "success" }
        guard let error = error as? URLError else { return "error \(error)" }
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        let errno = underlying?.domain == NSPOSIXErrorDomain ? underlying?.code : nil
        return "error \(error.code.rawValue) \(error.userInfo[CurlErrorKey.code] ?? "-") \(errno ?? 0)"
    }
}
