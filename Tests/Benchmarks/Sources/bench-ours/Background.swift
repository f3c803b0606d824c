import CurlNetworking
import Foundation

/// Downloads of a background session, from their creation until nothing is left of them: the agent has forgotten them, and their records are
/// gone. Removing the files again is not measured.
struct Background: Scenario {
    private let arguments: Arguments
    private let receiver: BackgroundReceiver
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("background-\(UUID().uuidString)", isDirectory: true)
        receiver = BackgroundReceiver(folder)
        let configuration = URLSessionConfiguration.background(withIdentifier: "bench")
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.curl.background.folder = folder
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: receiver.queue)
    }

    /// Starts the agent.
    func warmUp() async throws -> Tally {
        await receiver.download(arguments.warmup ?? arguments.url, 20, expect: nil, session)
    }

    func slice(_ tally: inout Tally) async -> Report {
        guard let agent = receiver.agentClock else {
            tally.note("there is no agent")
            return Meter().stop().report(tally)
        }
        let clocks: [clockid_t] =
            switch arguments.share {
            case .program: [CLOCK_PROCESS_CPUTIME_ID]
            case .agent: [agent]
            case .both: [CLOCK_PROCESS_CPUTIME_ID, agent]
            }
        let meter = Meter(clocks)
        let results = await receiver.download(arguments.url, arguments.requests, expect: arguments.expect, session)
        let reading = meter.stop()
        receiver.removeFiles()
        tally.add(results)
        return reading.report(tally)
    }
}

/// The session's delegate. It keeps the files until they are removed.
///
/// `@unchecked Sendable`: the stored properties change only on the delegate queue, which is serial, or while no task is there.
private final class BackgroundReceiver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let queue = OperationQueue()
    private let folder: URL
    private var files: [URL] = []
    private var progress: Int64 = 0
    private var expect: Int?
    private var missing = 0
    private var tally = Tally()
    private var finished: CheckedContinuation<Void, Never>?

    init(_ folder: URL) {
        self.folder = folder
        queue.maxConcurrentOperationCount = 1
    }

    /// The clock of the process that holds the folder's lock; nil where there is none.
    var agentClock: clockid_t? {
        var clock = clockid_t()
        guard let text = try? String(contentsOf: folder.appendingPathComponent("agent.lock"), encoding: .utf8),
            let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)),
            clock_getcpuclockid(pid, &clock) == 0
        else { return nil }
        return clock
    }

    /// Makes `count` downloads, and returns when the agent has forgotten them.
    func download(_ url: URL, _ count: Int, expect: Int?, _ session: URLSession) async -> Tally {
        (tally, missing, self.expect) = (Tally(), count, expect)
        await withCheckedContinuation { continuation in
            finished = continuation
            for _ in 0..<count { session.downloadTask(with: url).resume() }
        }
        let sessions = folder.appendingPathComponent("sessions").path
        let deadline = ContinuousClock.now + .seconds(10)
        while (try? FileManager.default.contentsOfDirectory(atPath: sessions)) != [] {
            guard ContinuousClock.now < deadline else {
                tally.note("the agent keeps what is over")
                break
            }
            usleep(2000)
        }
        return tally
    }

    func removeFiles() {
        for file in files { try? FileManager.default.removeItem(at: file) }
        files = []
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        progress = totalBytesWritten
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let kept = location.appendingPathExtension("kept")
        guard rename(location.path, kept.path) == 0 else { return tally.note("the file can't be kept") }
        files.append(kept)
        var status = stat()
        stat(kept.path, &status)
        tally.note(complaint(about: downloadTask.response, bytes: Int(status.st_size), expect: expect))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { tally.note("\(error)") }
        missing -= 1
        if missing == 0 { finished.take()?.resume() }
    }
}

func makeBackground(_ arguments: Arguments) throws -> any Scenario {
    Background(arguments)
}
