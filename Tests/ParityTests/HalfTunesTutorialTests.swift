import Foundation
import CurlNetworkingLoopbackServer
import OnlyOurs5
import TestSupport
import Testing

/// That the classes compile is half of the test; the other half is that they work.
@Suite("The tutorial's classes, with this module's import", .timeLimit(.minutes(1)))
struct HalfTunesTutorialTests {
    private static let length: Int64 = 500_000
    private static let body = LoopbackServer.Body.generated(length: length, seed: 9)
    private static let bytes = GeneratedBody.bytes(seed: 9, length: Int(length))

    /// What the controller has told.
    private struct Story: Sendable {
        var progress: Float = 0
        var totalSize = ""
        var finished: [String] = []
    }

    private let directory: TemporaryDirectory
    private let server: LoopbackServer
    /// Lets the first preview's first answer go on.
    private let gate = Gate()

    init() throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer { [gate] request in
            switch request.path {
            case "/search":
                guard let host = request.header("Host"), request.parameter("term") == "bach" else {
                    return .status(404)
                }
                let songs = (1...2).map {
                    #"{"trackName":"Song \#($0)","artistName":"Artist","previewUrl":"http://\#(host)/\#($0).m4a"}"#
                }
                return .text(#"{"resultCount":3,"results":[\#(songs.joined(separator: ",")),{"kind":"album"}]}"#)
            case "/1.m4a" where request.header("Range") == nil:
                let rest = Self.body[200_000..<Self.length]
                return .pieces([.body(Self.body[0..<200_000]), .waitFor(gate), .body(rest)]).header("ETag", "\"1\"")
            default:
                return .resource(Self.body, for: request, etag: "\"1\"")
            }
        }
    }

    private func search(_ term: String) async -> (tracks: [Track], message: String) {
        let service = QueryService(address: server.url.absoluteString)
        return await withCheckedContinuation { continuation in
            service.getSearchResults(searchTerm: term) { tracks, message in
                nonisolated(unsafe) let result = (tracks ?? [], message)
                continuation.resume(returning: result)
                withExtendedLifetime(service) {}
            }
        }
    }

    @Test("The tutorial's classes search, download, pause, resume and cancel")
    func everything() async throws {
        defer { gate.open() }
        let (tracks, message) = await search("bach")
        #expect(message == "")
        try #require(tracks.map(\.name) == ["Song 1", "Song 2"])

        let story = Watched(Story())
        let controller = SearchController(documents: directory.url) { event in
            switch event {
            case .progress(_, let progress, let size):
                story.update {
                    $0.progress = progress
                    $0.totalSize = size
                }
            case .finished(let track): story.update { $0.finished.append(track.name) }
            }
        }
        defer { controller.close() }
        let service = controller.downloadService
        nonisolated(unsafe) let held = (service, tracks)
        func onQueue(_ body: @escaping @Sendable (DownloadService, [Track]) -> Void) {
            controller.queue.addOperation { body(held.0, held.1) }
        }

        onQueue { $0.startDownload($1[0]) }
        try await story.wait { $0.progress >= 0.4 }
        #expect(story.value.totalSize.isEmpty == false)
        let paused = Gate()
        // Resume data comes on that queue as well.
        onQueue { $0.pauseDownload($1[0]) }
        Self.wait(for: paused, { held.0.activeDownloads.values.first?.resumeData != nil }, on: controller.queue)
        try await paused.wait()
        onQueue { $0.resumeDownload($1[0]) }
        try await story.wait { $0.finished == ["Song 1"] }
        #expect(server.requests.last?.header("Range") == "bytes=200000-")
        #expect(try Data(contentsOf: directory.url.appendingPathComponent("1.m4a")) == Self.bytes)
        #expect(tracks[0].downloaded)

        onQueue { service, tracks in
            service.startDownload(tracks[1])
            service.cancelDownload(tracks[1])
        }
        let cancelled = Gate()
        Self.wait(for: cancelled, { held.0.activeDownloads.isEmpty }, on: controller.queue)
        try await cancelled.wait()
        #expect(story.value.finished == ["Song 1"])
    }

    /// Opens the gate when the condition holds, asking on the queue where what it asks about changes.
    private static func wait(
        for gate: Gate,
        _ condition: @escaping @Sendable () -> Bool,
        on queue: OperationQueue
    ) {
        queue.addOperation {
            if condition() { gate.open() } else { wait(for: gate, condition, on: queue) }
        }
    }
}
