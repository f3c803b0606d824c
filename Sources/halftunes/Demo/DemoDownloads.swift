import CurlNetworking
import Foundation

/// The demo's downloads: two go straight through, one is paused and resumed by another process, one is cancelled.
struct DemoDownloads {
    private enum Event: Sendable {
        case download(Download)
        case child(ChildProcess.Event)
    }

    private static let roles: [DemoStory.Role] = [.straight, .moved, .straight, .dropped]
    /// As fractions of the file.
    private static let cancelAt = 0.25
    private static let pauseAt = 0.4

    private let folder: DownloadFolder
    private let server: CatalogueServer
    private let timeLimit: Duration
    private var screen: DemoScreen
    private var chapters: [DemoStory.Chapter]
    private var child: ChildProcess?
    private var hasChildEnded = false

    init(
        _ items: [DownloadItem],
        folder: DownloadFolder,
        server: CatalogueServer,
        screen: DemoScreen,
        timeLimit: Duration
    ) {
        self.folder = folder
        self.server = server
        self.screen = screen
        self.timeLimit = timeLimit
        chapters = zip(items, Self.roles).map { DemoStory.Chapter(item: $0, role: $1) }
    }

    mutating func run(_ story: inout DemoStory) async {
        let act = DemoAct<Event>(timeLimit: timeLimit)
        defer { act.end() }
        let report = act.report
        let centre = DownloadCentre(folder: folder, places: chapters.count) { report(.download($0)) }
        for chapter in chapters { centre.start(chapter.item) }

        for await element in act {
            switch element {
            case .event(.download(let download)):
                note(download, &story, centre) { report(.child($0)) }
            case .event(.child(let event)):
                note(event, &story)
            case .interruption(let claim):
                story.interruption = claim
            }
            if story.interruption != nil { child?.terminate() }
            if isOver || story.interruption != nil && (child == nil || hasChildEnded) { break }
        }

        await centre.close()
        folder.tidy()
        screen.finishBars()
        record(&story)
    }

    private var isOver: Bool {
        chapters.allSatisfy { chapter in
            guard let download = chapter.download, !download.isBusy else { return false }
            if case .paused = download.state { return hasChildEnded }
            return true
        }
    }

    // MARK: - Events

    private mutating func note(
        _ download: Download,
        _ story: inout DemoStory,
        _ centre: DownloadCentre,
        reportChild: @escaping @Sendable (ChildProcess.Event) -> Void
    ) {
        guard let index = chapters.firstIndex(where: { $0.item.url == download.id }) else { return }
        chapters[index].download = download
        story.ranAtOnce = max(story.ranAtOnce, chapters.count { $0.download?.isReceiving ?? false })
        screen.show(download)
        switch (chapters[index].role, download.state) {
        case (.dropped, .running) where download.fraction ?? 0 >= Self.cancelAt:
            centre.cancel(download.id)
        case (.moved, .running) where download.fraction ?? 0 >= Self.pauseAt:
            centre.pause(download.id)
        case (.moved, .paused(.some)) where child == nil:
            story.pausedAt = download.received
            resumeInAnotherProcess(download, &story, reportChild)
        case (.moved, .paused(nil)):
            hasChildEnded = true
        default:
            break
        }
    }

    /// Has another process resume a download, given nothing but the `.resume` file.
    private mutating func resumeInAnotherProcess(
        _ download: Download,
        _ story: inout DemoStory,
        _ report: @escaping @Sendable (ChildProcess.Event) -> Void
    ) {
        let process = ChildProcess(report: report)
        do {
            try process.start([Invocation.Verb.resume.rawValue, folder.pauseFileURL(of: download.item).path])
            story.child = process.identifier
            child = process
        } catch {
            hasChildEnded = true
            Console.printError("The other process can't be started: \(error.localizedDescription)")
        }
    }

    private mutating func note(_ event: ChildProcess.Event, _ story: inout DemoStory) {
        switch event {
        case .line(let line):
            guard let item = chapters.first(where: { $0.role == .moved })?.item,
                let news = PlainLine(line, about: item.fileName.printable)
            else { return }
            if case .resumed(let offset, _) = news { story.childResumedAt = offset }
            screen.show(news, about: item, process: story.child ?? 0)
        case .ended(let status):
            story.childStatus = status
            hasChildEnded = true
        }
    }

    // MARK: - The end

    /// Checks the actual state on disk and in the server's records.
    private mutating func record(_ story: inout DemoStory) {
        for index in chapters.indices {
            let item = chapters[index].item
            chapters[index].bytes = folder.length(of: item)
            chapters[index].digest = try? SHA256.digest(ofFile: folder.destination(of: item))
        }
        story.chapters = chapters
        guard let moved = chapters.first(where: { $0.role == .moved }) else { return }
        let loopback = server.loopback
        story.rangeRequests = loopback.requests.filter { $0.path == moved.item.url.path }.compactMap { request in
            guard let range = request.header("Range") else { return nil }
            return DemoStory.RangeRequest(
                range: range,
                hasCondition: request.header("If-Range") != nil,
                bytesSent: loopback.bytesSent(inAnswerTo: request.ordinal)
            )
        }
    }
}

extension Download {
    fileprivate var isReceiving: Bool {
        if case .running = state { received > 0 } else { false }
    }
}
