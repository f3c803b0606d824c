import Foundation

/// The interactive program's screen, and how keys change it. A value: it returns actions and performs none.
struct Screen {
    struct Row: Equatable {
        let title: String
        /// nil for a song without a preview.
        let item: DownloadItem?
    }

    enum Mode: Equatable {
        case browsing
        /// The search term typed so far.
        case typing(String)
    }

    enum Action: Equatable {
        case search(String)
        case download(DownloadItem)
        case play(DownloadItem)
        case stopPlaying
        case pause(URL)
        case resume(URL)
        case cancel(URL)
        case suspend
        case quit
    }

    let source: String
    let folder: URL
    private(set) var mode = Mode.typing("")
    private(set) var rows: [Row] = []
    private(set) var selected = 0
    private(set) var downloads: [URL: Download] = [:]
    private(set) var playing: URL?
    /// The latest news; gone when another row is selected.
    private var news: String? = "Try bach, beethoven, folk or dance."
    /// How many rows a page has; set by the view.
    var pageSize = 10

    init(source: String, folder: URL) {
        self.source = source
        self.folder = folder
    }

    var selectedRow: Row? { rows.indices.contains(selected) ? rows[selected] : nil }

    /// The latest news, or else where the selected song's file is.
    var message: String {
        if let news { return news }
        guard let download = selectedDownload, case .finished = download.state else { return "" }
        return path(of: download.item)
    }

    /// Explains what the keys do now.
    var help: [String] {
        switch mode {
        case .typing: ["enter search", "esc list", "ctrl-u clear", "ctrl-c quit"]
        case .browsing: ["/ search"] + (rows.count > 1 ? ["↑↓ move"] : []) + commands.map(\.help) + ["q quit"]
        }
    }

    private func path(of item: DownloadItem) -> String {
        folder.appendingPathComponent(item.fileName, isDirectory: false).path
    }

    // MARK: - News

    mutating func show(_ result: Result<[Track], any Error>, of term: String) {
        switch result {
        case .success(let tracks):
            let items = DownloadItem.items(for: tracks, beside: downloads.values.map(\.item))
            let found = tracks.map { track in
                Row(title: track.title, item: items.first { $0.url == track.preview })
            }
            // Running downloads stay in sight, whatever is searched for.
            let kept = rows.filter { row in
                row.item.map { downloads[$0.url] != nil && !found.contains(row) } ?? false
            }
            rows = found + kept
            selected = 0
            switch tracks.count {
            case 0: news = "Nothing matches \"\(term)\"."
            case 1: news = "1 song matches \"\(term)\"."
            default: news = "\(tracks.count) songs match \"\(term)\"."
            }
        case .failure(let error as URLError) where error.code == .cancelled:
            break
        case .failure(let error):
            news = "The search failed: \(error.localizedDescription)"
        }
    }

    mutating func show(_ download: Download) {
        downloads[download.id] = download
        if !rows.contains(where: { $0.item?.url == download.id }) {
            rows.append(Row(title: download.item.title, item: download.item))
        }
        switch download.state {
        case .failed(let failure): news = "\(download.item.title): \(failure.message)"
        case .finished(.verified), .finished(.unverified): news = "Downloaded to \(path(of: download.item))"
        default: break
        }
    }

    /// Called when the song's file is gone: it can be downloaded again.
    mutating func forget(_ id: URL) {
        guard let download = downloads.removeValue(forKey: id) else { return }
        news = "\(path(of: download.item)) is gone; d downloads it again."
    }

    mutating func startedPlaying(_ item: DownloadItem, with player: String) {
        playing = item.url
        news = "Playing \(path(of: item)) with \(player)"
    }

    /// - Parameter problem: The reason, unless it was the song's end or the user's wish.
    mutating func stoppedPlaying(_ problem: String?) {
        playing = nil
        news = problem
    }

    mutating func say(_ text: String) {
        news = text
    }

    // MARK: - Keys

    mutating func press(_ key: Key) -> Action? {
        switch (key, mode) {
        case (.control("c"), _): return .quit
        case (.control("z"), _): return .suspend
        case (_, .typing(let term)): return type(key, term)
        case (_, .browsing): return browse(key)
        }
    }

    private mutating func type(_ key: Key, _ term: String) -> Action? {
        switch key {
        case .character(let character):
            mode = .typing(term + String(character))
        case .backspace:
            mode = .typing(String(term.dropLast()))
        case .control("u"):
            mode = .typing("")
        case .escape:
            mode = .browsing
        case .enter:
            mode = .browsing
            let term = term.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard !term.isEmpty else { return nil }
            news = "Searching for \"\(term)\"…"
            return .search(term)
        case .up, .down, .pageUp, .pageDown, .home, .end:
            mode = .browsing
            return browse(key)
        case .control:
            break
        }
        return nil
    }

    private mutating func browse(_ key: Key) -> Action? {
        switch key {
        case .character("/"): mode = .typing("")
        case .up, .character("k"): select(selected - 1)
        case .down, .character("j"): select(selected + 1)
        case .pageUp: select(selected - pageSize)
        case .pageDown: select(selected + pageSize)
        case .home, .character("g"): select(0)
        case .end, .character("G"): select(rows.count - 1)
        case .character("q"): return .quit
        case .escape, .backspace, .control: break
        case .enter, .character: return command(key)
        }
        return nil
    }

    private mutating func select(_ index: Int) {
        selected = max(0, min(index, rows.count - 1))
        news = nil
    }

    // MARK: - What keys do to the selected row

    private mutating func command(_ key: Key) -> Action? {
        let wishes = RowCommand.wishes(of: key)
        guard let wish = wishes.first else {
            if case .character(let character) = key { news = "There is no key \(character) here." }
            return nil
        }
        guard let row = selectedRow else {
            news = "Nothing is selected: / searches."
            return nil
        }
        guard let item = row.item else {
            news = "\(row.title) has no preview."
            return nil
        }
        let commands = commands
        guard let command = wishes.first(where: commands.contains) else {
            let condition = selectedDownload?.condition ?? "not downloaded"
            news = "There is nothing to \(wish.name): \(row.title) is \(condition)."
            return nil
        }
        return action(command, item)
    }

    private func action(_ command: RowCommand, _ item: DownloadItem) -> Action {
        switch command {
        case .play: .play(item)
        case .stop: .stopPlaying
        case .download: .download(item)
        case .pause: .pause(item.url)
        case .resume: .resume(item.url)
        case .cancel: .cancel(item.url)
        }
    }

    /// The actions that apply to the selected row.
    private var commands: [RowCommand] {
        guard let item = selectedRow?.item else { return [] }
        return RowCommand.applicable(to: selectedDownload, isPlaying: playing == item.url)
    }

    private var selectedDownload: Download? {
        selectedRow?.item.flatMap { downloads[$0.url] }
    }
}
