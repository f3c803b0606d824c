import Foundation

struct ScreenView {
    let columns: Int
    let rows: Int
    var glyphs = ProgressLine.Glyphs.suitable()

    /// Below the head, search field and message, and above the keys.
    var listRows: Int { max(1, rows - 6) }

    /// One string for each line of the terminal.
    func lines(_ screen: Screen) -> [String] {
        let rule = String(repeating: glyphs.todo, count: columns)
        let top = max(0, min(screen.selected - listRows / 2, screen.rows.count - listRows))
        let visible = screen.rows.indices.dropFirst(top).prefix(listRows)
        var list = visible.map { line(screen.rows[$0], of: screen, isSelected: $0 == screen.selected) }
        list += Array(repeating: "", count: listRows - list.count)
        let lines =
            [bold("Half Tunes · \(screen.source)".printable.fitted(to: columns)), searchField(screen), rule] + list
            + [
                rule, screen.message.printable.fitted(to: columns),
                dimmed(screen.help.joined(separator: "   ").fitted(to: columns)),
            ]
        return Array(lines.prefix(rows))
    }

    private func searchField(_ screen: Screen) -> String {
        switch screen.mode {
        case .typing(let term): "Search: \(term)".printable.end(fittingIn: columns - 1) + inverse(" ")
        case .browsing: dimmed("Search: press /".fitted(to: columns))
        }
    }

    private func line(_ row: Screen.Row, of screen: Screen, isSelected: Bool) -> String {
        let download = row.item.flatMap { screen.downloads[$0.url] }
        let text: String
        if let download {
            let note = screen.playing == download.id ? "playing" : nil
            text = " " + ProgressLine(glyphs: glyphs, columns: columns - 1).text(download, note: note)
        } else {
            text = " " + row.title.printable + (row.item == nil ? " (no preview)" : "")
        }
        let fitted = text.fitted(to: columns)
        return isSelected ? inverse(fitted) : fitted
    }

    private func bold(_ text: String) -> String { "\u{1B}[1m\(text)\u{1B}[0m" }
    private func dimmed(_ text: String) -> String { "\u{1B}[2m\(text)\u{1B}[0m" }
    private func inverse(_ text: String) -> String { "\u{1B}[7m\(text)\u{1B}[0m" }
}
