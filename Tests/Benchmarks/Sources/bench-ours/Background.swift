import CurlNetworking
import Foundation

/// Downloads of a background session, from their creation until nothing is left of them: the agent has forgotten them, and their records
/// are gone. Removing the files again is not measured.
struct Background: Scenario {
    private let arguments: Arguments
    private let downloads: BackgroundDownloads
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("background-\(UUID().uuidString)", isDirectory: true)
        downloads = BackgroundDownloads(folder)
        let configuration = URLSessionConfiguration.background(withIdentifier: "bench")
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.curl.background.folder = folder
        let receiver = downloads.receiver
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: receiver.queue)
    }

    /// Starts the agent.
    func warmUp() async throws -> Tally {
        await downloads.run(arguments.warmup ?? arguments.url, 20, expect: nil, session)
    }

    func slice(_ tally: inout Tally) async -> Report {
        guard let agent = downloads.agentClock else {
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
        let results = await downloads.run(arguments.url, arguments.requests, expect: arguments.expect, session)
        let reading = meter.stop()
        downloads.removeFiles()
        tally.add(results)
        return reading.report(tally)
    }
}

/// Downloads of the session. Keeps their files until they are removed.
///
/// `@unchecked Sendable`: the stored properties change only on the delegate queue, which is serial, or while no task is there.
private final class BackgroundDownloads: @unchecked Sendable {
    let receiver = DownloadReceiver()
    private let folder: URL
    private var files: [URL] = []
    private var missing = 0
    private var tally = Tally()

    init(_ folder: URL) {
        self.folder = folder
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
    func run(_ url: URL, _ count: Int, expect: Int?, _ session: URLSession) async -> Tally {
        (tally, missing) = (Tally(), count)
        await withCheckedContinuation { continuation in
            receiver.ended = { [self] task, file in
                note(task, file, expect: expect)
                missing -= 1
                if missing == 0 { continuation.resume() }
            }
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

    private func note(_ task: URLSessionTask, _ file: Result<URL, any Error>, expect: Int?) {
        do {
            let file = try file.get()
            files.append(file)
            var status = stat()
            stat(file.path, &status)
            tally.note(complaint(about: task.response, bytes: Int(status.st_size), expect: expect))
        } catch {
            tally.note("\(error)")
        }
    }
}

func makeBackground(_ arguments: Arguments) throws -> any Scenario {
    Background(arguments)
}
