import Foundation

/// Downloads items until all are complete, have failed for good, or a signal asks it to stop; then everything is paused.
struct DownloadRun {
    private enum Event: Sendable {
        case download(Download)
        /// All items have been requested. Earlier events were the results of earlier runs' downloads.
        case started
        case retry(URL)
        case signal(Int32)
    }

    /// How many times a failed transfer is retried in a row without gaining a byte.
    private static let retries = 3

    private let items: [DownloadItem]
    private let folder: DownloadFolder
    private let places: Int
    private let transfers: DownloadCentre.Transfers
    private var reporter: any DownloadReporter

    private var latest: [URL: Download] = [:]
    private var attempts: [URL: (count: Int, received: Int64)] = [:]
    /// The downloads that may still finish.
    private var pending: Set<URL>

    init(
        _ items: [DownloadItem],
        folder: DownloadFolder,
        places: Int,
        transfers: DownloadCentre.Transfers = .here,
        reporter: any DownloadReporter
    ) {
        self.items = items
        self.folder = folder
        self.places = places
        self.transfers = transfers
        self.reporter = reporter
        pending = Set(items.map(\.url))
    }

    /// Returns the program's exit code.
    mutating func run() async -> Int32 {
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let centre = DownloadCentre(folder: folder, places: places, transfers: transfers) {
            continuation.yield(.download($0))
        }
        let signals = Signals(Signals.endings) { continuation.yield(.signal($0)) }
        _ = await centre.restore()
        for item in items { centre.start(item) }
        centre.queue.async { continuation.yield(.started) }

        var hasStarted = false
        var signal: Int32?
        for await event in events {
            switch event {
            case .download(let download):
                if let delay = note(download) {
                    Task {
                        try? await Task.sleep(for: delay)
                        continuation.yield(.retry(download.id))
                    }
                }
            case .started:
                hasStarted = true
            case .retry(let id):
                centre.resume(id)
            case .signal(let number):
                signal = number
            }
            if hasStarted && pending.isEmpty || signal != nil { break }
        }

        await centre.close()
        continuation.finish()
        for await case .download(let download) in events { _ = note(download) }
        folder.tidy()
        withExtendedLifetime(signals) { reporter.finish(summary) }
        if let signal { return ExitCode.signal(signal) }
        return failures.isEmpty ? ExitCode.success : ExitCode.failure
    }

    /// Returns the delay before the download should be retried, if it should.
    private mutating func note(_ download: Download) -> Duration? {
        latest[download.id] = download
        guard case .failed(let failure) = download.state, failure.isTransient, let delay = delay(for: download) else {
            reporter.note(download)
            if !download.isBusy {
                pending.remove(download.id)
            } else if items.contains(where: { $0.url == download.id }) {
                // An earlier run's result doesn't settle it: the item has been asked for again.
                pending.insert(download.id)
            }
            return nil
        }
        reporter.note(download, retryingIn: delay)
        return delay
    }

    private mutating func delay(for download: Download) -> Duration? {
        var attempt = attempts[download.id] ?? (0, 0)
        if download.received > attempt.received { attempt = (0, download.received) }
        guard attempt.count < Self.retries else { return nil }
        attempt.count += 1
        attempts[download.id] = attempt
        return .seconds(1 << (attempt.count - 1))
    }

    /// The downloads that won't complete, including those that 'halftunes stop' has cancelled.
    private var failures: [Download] {
        latest.values.filter { download in
            switch download.state {
            case .failed, .cancelled: true
            case .waiting, .running, .pausing, .paused, .checking, .finished: false
            }
        }
    }

    private var summary: [String] {
        var lines: [String] = []
        let finished = items.filter { if case .finished = latest[$0.url]?.state { true } else { false } }
        switch finished.count {
        case 0: break
        case 1: lines.append("The file is \(folder.destination(of: finished[0]).path)")
        default: lines.append("\(finished.count) files are in \(folder.url.path)")
        }
        let running = latest.values.count(where: \.isBusy)
        if running > 0 {
            let subject = running == 1 ? "1 download continues" : "\(running) downloads continue"
            lines.append(
                "\(subject) in the background. The same command shows the progress. To cancel: \(folder.stopCommand)"
            )
        }
        let resumable = latest.values.count { $0.resumeData != nil }
        if resumable > 0 {
            let subject = resumable == 1 ? "1 download is" : "\(resumable) downloads are"
            lines.append("\(subject) paused. The same command resumes from there.")
        }
        return lines
    }
}

/// Shows the user how downloads are progressing.
protocol DownloadReporter: Sendable {
    mutating func note(_ download: Download)
    /// Notes that the download has failed, and will be retried.
    mutating func note(_ download: Download, retryingIn delay: Duration)
    mutating func finish(_ summary: [String])
}
