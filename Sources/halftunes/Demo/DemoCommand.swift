import Foundation
import CurlNetworkingLoopbackServer

/// `halftunes demo`: the whole story, checked as it goes. Each step is triggered by the event before it: the clock matters only for giving
/// up.
struct DemoCommand {
    private static let firstTerm = "beethoven"
    private static let secondTerm = "bach"
    /// In bytes per second, for each download.
    private static let rate = 600_000
    private static let backgroundTerm = "folk"
    private static let backgroundRate = 4_000_000
    private static let timeLimit = Duration.seconds(60)

    private let directory: String?

    init(_ invocation: Invocation) {
        directory = invocation.directory
    }

    func run() async throws -> Int32 {
        let began = ContinuousClock.now
        let folder = try DownloadFolder(directory ?? Self.temporaryDirectory())
        defer { if directory == nil { try? FileManager.default.removeItem(at: folder.url) } }
        let gate = Gate()
        let delay = CatalogueServer.Delay(term: Self.firstTerm, gate: gate)
        let server = try CatalogueServer(rate: Self.rate, delay: delay)
        defer { server.stop() }
        let screen = DemoScreen()
        Console.print("Half Tunes, hands off. The catalogue is embedded, at \(server.url.absoluteString).")

        var story = DemoStory()
        screen.heading("Search")
        let tracks = try await search(server, &story, screen)
        gate.open()

        screen.heading("Download")
        let items = Self.items(for: tracks.prefix(DemoStory.downloads))
        var act = DemoDownloads(items, folder: folder, server: server, screen: screen, timeLimit: Self.timeLimit)
        await act.run(&story)

        if story.interruption == nil {
            screen.heading("Kill")
            try await background(folder, &story, screen)
        }
        if story.interruption == nil, let chapter = story.chapters.first(where: { $0.role == .straight }) {
            screen.heading("Upload")
            try await DemoUpload(chapter, in: folder, screen: screen, timeLimit: Self.timeLimit).run(&story)
        }
        story.leftovers = Self.leftovers(in: folder, of: story)

        screen.heading("Result")
        return conclude(story, after: began.duration(to: .now), screen)
    }

    /// Downloads in the background, by programs whose state is in the demo's own folder.
    private func background(_ folder: DownloadFolder, _ story: inout DemoStory, _ screen: DemoScreen) async throws {
        let server = try CatalogueServer(rate: Self.backgroundRate)
        defer { server.stop() }
        let service = SearchService(api: server.url)
        let items = Self.items(for: try await service.search(Self.backgroundTerm, limit: DemoBackground.downloads))
        let state = try BackgroundState()
        let words = ["get", "--background", "--search", Self.backgroundTerm, "--limit", "\(DemoBackground.downloads)"]
        var act = DemoBackground(
            items,
            command: words + ["--api", server.url.absoluteString, "--output", folder.url.path],
            state: state,
            server: server,
            screen: screen,
            timeLimit: Self.timeLimit
        )
        await act.run(&story)
        act.record(&story, folder)
        folder.tidy()
        await state.remove()
    }

    private static func leftovers(in folder: DownloadFolder, of story: DemoStory) -> [String] {
        let expected = Set(story.chapters.filter { $0.role != .dropped }.map(\.item.fileName))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []
        return names.filter { !expected.contains($0) }
    }

    /// Prints which claims held, and returns the program's exit code.
    private func conclude(_ story: DemoStory, after time: Duration, _ screen: DemoScreen) -> Int32 {
        for line in story.table { screen.say(line) }
        Console.print()
        for (claim, holds) in story.claims { screen.say("\(holds ? "yes" : " NO")  \(claim)") }
        let seconds = (time / .milliseconds(100)).rounded() / 10
        let failures = story.claims.count { !$0.holds }
        Console.print(failures == 0 ? "\nAll claims held, in \(seconds) s." : "\n\(failures) did not hold.")
        return failures == 0 ? ExitCode.success : ExitCode.failure
    }

    /// By title alone: the artist doesn't matter here.
    private static func items(for tracks: some Sequence<Track>) -> [DownloadItem] {
        tracks.flatMap { track in
            DownloadItem.items(for: [track]).map { item in
                var item = item
                item.title = track.trackName
                return item
            }
        }
    }

    /// Starts one search and, when the server has received it, another.
    private func search(_ server: CatalogueServer, _ story: inout DemoStory, _ screen: DemoScreen) async throws
        -> [Track]
    {
        let service = SearchService(api: server.url)
        async let first = outcome(of: Self.firstTerm, service)
        _ = try await server.loopback.requestHead(number: 1)
        let second = await outcome(of: Self.secondTerm, service)
        if case .failure(let error as URLError) = await first {
            story.isFirstSearchCancelled = error.code == .cancelled
        }
        screen.say(
            "\"\(Self.firstTerm)\": \(story.isFirstSearchCancelled ? "cancelled by the next query" : "NOT cancelled")"
        )
        let tracks = try second.get()
        story.found = tracks.count
        screen.say("\"\(Self.secondTerm)\": \(tracks.count) songs")
        return tracks
    }

    private func outcome(of term: String, _ service: SearchService) async -> Result<[Track], any Error> {
        do {
            return .success(try await service.search(term, limit: 50))
        } catch {
            return .failure(error)
        }
    }

    private static func temporaryDirectory() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("halftunes-demo-\(UUID().uuidString)").path
    }
}
