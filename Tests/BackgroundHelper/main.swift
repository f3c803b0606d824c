import CurlNetworking
import Foundation
import Glibc

// A program with a background session, for tests that kill it. It is its own agent.
//
//     background-helper FOLDER IDENTIFIER OUTPUT
//
// It reads lines: `download URL DESCRIPTION`, `pause DESCRIPTION` (which kills it when its delegate is told of the end), `post URL
// DESCRIPTION LENGTH` (a download whose request has a body), `upload URL FILE`, `flush`, `finish` (which lets it exit when all tasks are
// done). It writes lines: what its delegate is told. A download's file goes to OUTPUT, under its description.

CurlBackgroundAgent.runIfStartedAsAgent()

func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// What both delegates do. It isn't one itself: a method that a subclass adds is not found through the conformance of its base class.
///
/// `@unchecked Sendable`: the lock guards what changes.
class Listener: NSObject, @unchecked Sendable {
    let output: URL
    private let lock = NSLock()
    private var fatal: Set<String> = []

    init(_ output: URL) {
        self.output = output
    }

    /// The process doesn't outlive the end of the task.
    func diesOfEnd(of name: String) {
        _ = lock.withLock { fatal.insert(name) }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let place = output.appendingPathComponent(downloadTask.taskDescription ?? "none")
        _ = try? FileManager.default.removeItem(at: place)
        do {
            try FileManager.default.moveItem(at: location, to: place)
            say("file \(downloadTask.taskDescription ?? "none")")
        } catch {
            say("error \(error)")
        }
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        say("wrote \(downloadTask.taskDescription ?? "none") \(totalBytesWritten)")
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        say("waiting \(task.taskDescription ?? "none")")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        say("data \(dataTask.taskDescription ?? "none") \(String(decoding: data, as: UTF8.self))")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if lock.withLock({ fatal.contains(task.taskDescription ?? "") }) { kill(getpid(), SIGKILL) }
        let code = (error as? URLError).map { "\($0.code.rawValue)" } ?? "ok"
        say("completed \(task.taskDescription ?? "none") \(code)")
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        say("events")
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        exit(0)
    }
}

/// Isn't asked.
final class PlainListener: Listener, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {}

/// Is asked, and doesn't answer.
final class HoldingListener: Listener, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        say("challenge \(challenge.protectionSpace.authenticationMethod)")
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 4 else { exit(64) }
let configuration = URLSessionConfiguration.background(withIdentifier: arguments[2])
configuration.curl.background.folder = URL(fileURLWithPath: arguments[1], isDirectory: true)
configuration.curl.background.idleTime = .milliseconds(200)
configuration.curl.background.resumableSize = 1
let command = ProcessInfo.processInfo.environment["LAUNCH_COMMAND"] ?? ""
if !command.isEmpty { configuration.curl.background.launchCommand = ["sh", "-c", command] }
let output = URL(fileURLWithPath: arguments[3], isDirectory: true)
let holds = ProcessInfo.processInfo.environment["HOLD_CHALLENGES"] == "1"
let listener: any Listener & URLSessionDelegate = holds ? HoldingListener(output) : PlainListener(output)
let session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
for task in await session.allTasks.sorted(by: { $0.taskIdentifier < $1.taskIdentifier }) {
    say("restored \(task.taskIdentifier) \(task.taskDescription ?? "none") \(task.state.rawValue)")
}
say("ready")
while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "download" where words.count == 3:
        guard let url = URL(string: words[1]) else { continue }
        let task = session.downloadTask(with: url)
        task.taskDescription = words[2]
        task.resume()
        say("resumed \(words[2]) \(task.taskIdentifier)")
    case "pause" where words.count == 2:
        listener.diesOfEnd(of: words[1])
        for task in await session.allTasks where task.taskDescription == words[1] {
            (task as? URLSessionDownloadTask)?.cancel { _ in }
        }
    case "post" where words.count == 4:
        guard let url = URL(string: words[1]), let length = Int(words[3]) else { continue }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(count: length)
        let task = session.downloadTask(with: request)
        task.taskDescription = words[2]
        task.resume()
        say("resumed \(words[2]) \(task.taskIdentifier)")
    case "upload" where words.count == 3:
        guard let url = URL(string: words[1]) else { continue }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        let file = URL(fileURLWithPath: words[2])
        let task = session.uploadTask(with: request, fromFile: file)
        task.taskDescription = file.lastPathComponent
        task.resume()
        say("resumed \(file.lastPathComponent) \(task.taskIdentifier)")
    case "flush":
        await withCheckedContinuation { continuation in session.flush { continuation.resume() } }
        say("flushed")
    case "finish":
        session.finishTasksAndInvalidate()
    default:
        say("what?")
    }
}
// The test is over: `_exit`, as when it is killed.
_exit(3)
