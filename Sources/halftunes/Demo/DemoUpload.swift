import CurlNetworkingLoopbackServer
import Foundation

/// The demo's upload: its connection breaks in the middle, and it resumes from what the catalogue has.
struct DemoUpload {
    private let chapter: DemoStory.Chapter
    private let file: URL
    private let screen: DemoScreen
    private let timeLimit: Duration

    /// - Parameter chapter: A download that is complete, to be sent back as a recording.
    init(_ chapter: DemoStory.Chapter, in folder: DownloadFolder, screen: DemoScreen, timeLimit: Duration) {
        self.chapter = chapter
        file = folder.destination(of: chapter.item)
        self.screen = screen
        self.timeLimit = timeLimit
    }

    private var length: Int64 { chapter.bytes ?? 0 }

    func run(_ story: inout DemoStory) async throws {
        // The connection lasts until the program knows that it may break.
        let offered = Gate()
        defer { offered.open() }
        let server = try CatalogueServer(recordings: Recordings(cuts: [.init(at: length / 2, after: offered)]))
        defer { server.stop() }
        var outcome = DemoStory.Upload(length: length, brokenAt: length / 2)
        outcome.receipt = await upload(to: server.url, offered, &story)
        outcome.requests = server.loopback.requests.map {
            DemoStory.Upload.Request(method: $0.method, offset: $0.header("Upload-Offset"))
        }
        if outcome.receipt != nil { screen.say("\(chapter.item.fileName): the catalogue has all of it") }
        story.upload = outcome
    }

    /// Opens `offered` when the upload can be resumed. Returns nil if it failed, or was interrupted.
    private func upload(to url: URL, _ offered: Gate, _ story: inout DemoStory) async -> Recordings.Receipt? {
        let act = DemoAct<RecordingUpload.Event>(timeLimit: timeLimit)
        defer { act.end() }
        let upload = RecordingUpload(file, to: url, from: FileManager.default.temporaryDirectory, report: act.report)
        for await element in act {
            switch element {
            case .event(.offered):
                screen.say("\(chapter.item.fileName): the catalogue can resume its upload")
                offered.open()
            case .event(.resumed(let offset)):
                screen.say("\(chapter.item.fileName): the connection broke; it resumes at \(offset) of \(length) bytes")
            case .event(.sent):
                break
            case .event(.ended(let result)):
                if case .failure(let error) = result { screen.say("It failed: \(error.localizedDescription)") }
                return try? result.get()
            case .interruption(let claim):
                story.interruption = claim
                _ = await upload.pause()
                return nil
            }
        }
        return nil
    }
}
