import Foundation

/// What the interactive program shows and how keys change it. A value: it asks for deeds and does none.
struct Screen {
    struct Row: Equatable {
        let title: String
        /// nil for a song without a preview.
        let item: DownloadItem?
    }

    enum Mode: Equatable {
        case browsing
        /// A search term, as far as it has been typed.
        case typing(String)
    }

    enum Deed: Equatable {
        case search(String)
        case download(DownloadItem)
        case pause(URL)
        case resume(URL)
        case cancel(URL)
        case suspend
        case quit
    }

    let source: String
    private(set) var mode = Mode.typing("")
    private(set) var rows: [Row] = []
    private(set) var selected = 0
    private(set) var downloads: [URL: Download] = [:]
    private(set) var message = "Try bach, beethoven, folk or dance."
    /// How many rows a page has; the view knows.
    var pageSize = 10

    init(source: String) {
        self.source = source
    }

    var selectedRow: Row? { rows.indices.contains(selected) ? rows[selected] : nil }

    // MARK: - News

    mutating func show(_ result: Result<[Track], any Error>, of term: String) {
        switch result {
        case .success(let tracks):
            let items = DownloadItem.items(for: tracks)
            let found = tracks.map { track in
                Row(title: track.title, item: items.first { $0.url == track.preview })
            }
            // What is under way stays in sight, whatever is searched for.
            let kept = rows.filter { row in
                row.item.map { downloads[$0.url] != nil && !found.contains(row) } ?? false
            }
            rows = found + kept
            selected = 0
            switch tracks.count {
            case 0: message = "Nothing matches \"\(term)\"."
            case 1: message = "1 song matches \"\(term)\"."
            default: message = "\(tracks.count) songs match \"\(term)\"."
            }
        case .failure(let error as URLError) where error.code == .cancelled:
            break
        case .failure(let error):
            message = "The search failed: \(error.localizedDescription)"
        }
    }

    mutating func show(_ download: Download) {
        downloads[download.id] = download
        if !rows.contains(where: { $0.item?.url == download.id }) {
            rows.append(Row(title: download.item.title, item: download.item))
        }
        if case .failed(let failure) = download.state { message = "\(download.item.title): \(failure.message)" }
    }

    mutating func say(_ text: String) {
        message = text
    }

    // MARK: - Keys

    mutating func press(_ key: Key) -> Deed? {
        switch (key, mode) {
        case (.control("c"), _): return .quit
        case (.control("z"), _): return .suspend
        case (_, .typing(let term)): return type(key, term)
        case (_, .browsing): return browse(key)
        }
    }

    private mutating func type(_ key: Key, _ term: String) -> Deed? {
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
            message = "Searching for \"\(term)\"…"
            return .search(term)
        case .up, .down, .pageUp, .pageDown, .home, .end:
            mode = .browsing
            return browse(key)
        case .control:
            break
        }
        return nil
    }

    private mutating func browse(_ key: Key) -> Deed? {
        switch key {
        case .character("/"): mode = .typing("")
        case .up, .character("k"): select(selected - 1)
        case .down, .character("j"): select(selected + 1)
        case .pageUp: select(selected - pageSize)
        case .pageDown: select(selected + pageSize)
        case .home, .character("g"): select(0)
        case .end, .character("G"): select(rows.count - 1)
        case .character("d"), .enter: return download()
        case .character("p"): return selectedDownload.map { .pause($0.id) }
        case .character("r"): return selectedDownload.map { .resume($0.id) }
        case .character("c"): return selectedDownload.map { .cancel($0.id) }
        case .character("q"): return .quit
        case .character, .control, .escape, .backspace: break
        }
        return nil
    }

    private mutating func select(_ index: Int) {
        selected = max(0, min(index, rows.count - 1))
    }

    private mutating func download() -> Deed? {
        guard let row = selectedRow else { return nil }
        guard let item = row.item else {
            message = "\(row.title) has no preview."
            return nil
        }
        return .download(item)
    }

    private var selectedDownload: Download? {
        selectedRow?.item.flatMap { downloads[$0.url] }
    }
}
