import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes downloads, pauses and resumes", .timeLimit(.minutes(1)))
struct HalfTunesDownloadCentreTests {
    private static let length = 2_000_000
    private static let content = GeneratedBody.bytes(seed: 3, length: length)
    private static let digest = SHA256.digest(of: content)

    private let directory: TemporaryDirectory
    private let server: LoopbackServer
    /// What keeps back the second half of "/half".
    private let gate = Gate()

    init() throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer { [gate] request in
            switch request.path {
            case "/missing": return .status(404)
            case "/elsewhere": return .redirect(to: "ftp://127.0.0.1/song")
            default:
                let body = LoopbackServer.Body.generated(length: Int64(Self.length), seed: 3)
                let response = LoopbackServer.Response.resource(body, for: request, etag: "v1")
                let isHeld = request.path == "/half" && request.header("Range") == nil
                return isHeld ? response.held(after: Int64(Self.length / 2), until: gate) : response
            }
        }
    }

    private func item(_ path: String, sha256: String? = digest) -> DownloadItem {
        DownloadItem(url: server.url(path), fileName: "song.wav", title: "Song", sha256: sha256)
    }

    private var file: Data? { try? Data(contentsOf: directory.url.appendingPathComponent("song.wav")) }

    /// Downloads until `stop` says so of a change; returns the last state, after everything has been written down.
    private func download(_ item: DownloadItem, until stop: @escaping @Sendable (Download) -> Bool) async throws
        -> Download
    {
        let folder = try DownloadFolder(directory.url.path)
        let (changes, continuation) = AsyncStream<Download>.makeStream()
        let centre = DownloadCentre(folder: folder, places: 2) { continuation.yield($0) }
        centre.start(item)
        var last: Download?
        for await change in changes {
            last = change
            if stop(change) { break }
        }
        await centre.close()
        continuation.finish()
        for await change in changes { last = change }
        folder.tidy()
        return try #require(last)
    }

    @Test("A downloaded file arrives in its place, is compared with its checksum, and leaves nothing behind")
    func straight() async throws {
        let download = try await download(item("/fast")) { !$0.isBusy }
        #expect(download.state == .finished(.verified))
        #expect(file == Self.content)
        #expect(directory.content == ["song.wav"])
        #expect(try await self.download(item("/fast")) { !$0.isBusy }.state == .finished(.alreadyThere))
        #expect(server.requestCount == 1)
    }

    @Test("A download that one centre has paused goes on in another from the same byte")
    func resuming() async throws {
        let paused = try await download(item("/half")) { $0.received > 300_000 }
        guard case .paused(.some) = paused.state else { return #expect(Bool(false), "it is \(paused.state)") }
        #expect(directory.content == [".halftunes", "song.wav.resume"])

        let resumed = try await download(item("/half")) { !$0.isBusy }
        #expect(resumed.state == .finished(.verified))
        let offset = try #require(resumed.resumedAt)
        #expect(offset >= paused.received)
        #expect(server.requests.last?.header("Range") == "bytes=\(offset)-")
        #expect(file == Self.content)
        #expect(directory.content == ["song.wav"])
    }

    @Test("A pause file whose resume data is damaged is no obstacle")
    func damagedResumeData() async throws {
        let folder = try DownloadFolder(directory.url.path)
        var download = Download(item("/fast"))
        _ = download.start(task: 1)
        _ = download.pause()
        _ = download.paused(task: 1, resumeData: Data("nonsense".utf8))
        try folder.save(#require(PauseFile(download)))

        let failed = try await self.download(item("/fast")) { !$0.isBusy }
        guard case .failed(let failure) = failed.state else { return #expect(Bool(false), "it is \(failed.state)") }
        #expect(failure.isTransient)
        #expect(try await self.download(item("/fast")) { !$0.isBusy }.state == .finished(.verified))
    }

    @Test("A file with another checksum is no success, and doesn't stay")
    func wrongChecksum() async throws {
        let download = try await download(item("/fast", sha256: String(repeating: "0", count: 64))) { !$0.isBusy }
        guard case .failed = download.state else { return #expect(Bool(false), "it is \(download.state)") }
        #expect(directory.content.isEmpty)
    }

    @Test("A file that has the name already stays until the other is complete and right")
    func otherFile() async throws {
        let own = Data("mine".utf8)
        let place = directory.url.appendingPathComponent("song.wav")
        try own.write(to: place)
        for item in [item("/missing"), item("/fast", sha256: String(repeating: "0", count: 64))] {
            let download = try await download(item) { !$0.isBusy }
            guard case .failed = download.state else { return #expect(Bool(false), "it is \(download.state)") }
            #expect(file == own)
            #expect(directory.content == ["song.wav"])
        }
        #expect(try await download(item("/fast")) { !$0.isBusy }.state == .finished(.verified))
        #expect(file == Self.content)
        #expect(directory.content == ["song.wav"])
    }

    @Test(
        "A file that a killed program had yet to check isn't downloaded again, unless it turns out to be wrong",
        arguments: [true, false]
    )
    func unchecked(isRight: Bool) async throws {
        let item = item("/fast")
        let arrived = try directory.file("arrived", isRight ? Self.content : Data("wrong".utf8))
        _ = try DownloadFolder(directory.url.path).accept(arrived, of: item)
        let download = try await download(item) { !$0.isBusy }
        #expect(download.state == .finished(isRight ? .alreadyThere : .verified))
        #expect(file == Self.content)
        #expect(server.requestCount == (isRight ? 0 : 1))
        #expect(directory.content == ["song.wav"])
    }

    @Test("An error page is not the file")
    func status() async throws {
        let download = try await download(item("/missing")) { !$0.isBusy }
        #expect(download.state == .failed(DownloadFailure(message: "status 404", isTransient: false)))
        #expect(directory.content.isEmpty)
    }

    @Test("A redirect that may not be followed is a failure, and not bad resume data")
    func unsupportedRedirect() async throws {
        let download = try await download(item("/elsewhere")) { !$0.isBusy }
        guard case .failed(let failure) = download.state else {
            return #expect(Bool(false), "it is \(download.state)")
        }
        #expect(!failure.isTransient)
        #expect(directory.content.isEmpty)
    }

    @Test("A download whose connection was refused may be tried again")
    func refused() async throws {
        server.stop()
        let download = try await download(item("/fast")) { !$0.isBusy }
        guard case .failed(let failure) = download.state else { return #expect(Bool(false), "it is \(download.state)") }
        #expect(failure.isTransient)
    }

    @Test("A cancelled download leaves nothing behind: its centre is closed once its task has ended")
    func cancelling() async throws {
        let folder = try DownloadFolder(directory.url.path)
        let (changes, continuation) = AsyncStream<Download>.makeStream()
        let centre = DownloadCentre(folder: folder, places: 2) { continuation.yield($0) }
        let item = item("/half")
        centre.start(item)
        for await change in changes where change.received > 100_000 { break }
        centre.cancel(item.url)
        await centre.close()
        let (state, tasks) = centre.queue.sync { (centre.downloads[item.url]?.state, centre.tasks.keys) }
        #expect(state == .cancelled && tasks.isEmpty)
        folder.tidy()
        #expect(directory.content.isEmpty)
    }
}
