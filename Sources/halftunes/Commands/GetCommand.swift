import Foundation

/// `halftunes get`
struct GetCommand {
    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        let folder = try DownloadFolder(invocation.directory ?? ".")
        let paused = folder.pauseFiles.map(\.item)
        guard let term = invocation.searchTerm else {
            let urls = invocation.operands.compactMap(URL.init(webAddress:))
            let stands = CatalogueServer.standIns(for: urls, rate: invocation.rate)
            defer { for stand in stands { stand.stop() } }
            return await download(Self.items(urls, beside: paused), to: folder)
        }
        let source = try MusicSource(api: invocation.api, rate: invocation.rate, resumable: paused.map(\.url))
        defer { source.stop() }
        let tracks = try await source.search.search(term, limit: invocation.limit)
        let items = DownloadItem.items(for: tracks, beside: paused)
        guard !items.isEmpty else {
            Console.printError("There is no preview of anything that matches '\(term)'.")
            return ExitCode.failure
        }
        return await download(items, to: folder)
    }

    private func download(_ items: [DownloadItem], to folder: DownloadFolder) async -> Int32 {
        let reporter: any DownloadReporter = Console.isTerminal ? TerminalReporter() : PlainReporter()
        var run = DownloadRun(
            items,
            folder: folder,
            places: invocation.parallel,
            transfers: invocation.isBackground ? .background : .here,
            reporter: reporter
        )
        return await run.run()
    }

    /// - Parameter others: Downloads that already have their names.
    static func items(_ urls: [URL], beside others: [DownloadItem] = []) -> [DownloadItem] {
        var items: [DownloadItem] = []
        for url in urls where !items.contains(where: { $0.url == url }) {
            let name = FileName.distinct(FileName.of(url), for: url, beside: others + items)
            items.append(DownloadItem(url: url, fileName: name, title: name))
        }
        return items
    }
}

extension DownloadItem {
    /// The previews of these tracks, each once and under a unique name.
    ///
    /// - Parameter others: Downloads that already have their names.
    static func items(for tracks: [Track], beside others: [DownloadItem] = []) -> [DownloadItem] {
        var items: [DownloadItem] = []
        for track in tracks {
            guard let url = track.preview, !items.contains(where: { $0.url == url }) else { continue }
            let name = FileName.distinct(FileName.of(track, preview: url), for: url, beside: others + items)
            let sha256 = track.previewSha256?.lowercased()
            items.append(DownloadItem(url: url, fileName: name, title: track.title, sha256: sha256))
        }
        return items
    }
}

extension CatalogueServer {
    /// Embedded catalogues in place of those that an earlier run had at these addresses. If something already listens there, it is left
    /// alone.
    static func standIns(for urls: [URL], rate: Int = usualRate) -> [CatalogueServer] {
        let ports = Set(urls.compactMap(MusicSource.loopbackPort))
        return ports.compactMap { try? CatalogueServer(port: $0, rate: rate) }
    }
}
