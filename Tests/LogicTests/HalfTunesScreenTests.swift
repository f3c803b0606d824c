import CurlNetworking
import Foundation
import Testing

@testable import halftunes

@Suite("Half Tunes is used with the keyboard")
struct HalfTunesScreenTests {
    private var screen = Screen(source: "test")
    private let tracks = Song.all.prefix(3).map { Track($0, at: "http://h") }

    private mutating func press(_ text: String) -> [Screen.Deed] {
        text.compactMap { screen.press($0 == "\n" ? .enter : .character($0)) }
    }

    private mutating func find(_ tracks: [Track]) {
        screen.show(.success(tracks), of: "bach")
        _ = screen.press(.escape)
    }

    private func itemAt(_ index: Int) -> DownloadItem? { screen.rows[index].item }

    @Test("It begins with the search, and what is typed is searched for")
    mutating func search() {
        let typed = press("  jqd  px")
        #expect(typed.isEmpty)
        _ = screen.press(.backspace)
        let searches = press("\n")
        #expect(searches == [.search("jqd p")])
        #expect(screen.mode == .browsing)
        let deeds = press("/x\n/\n")
        #expect(deeds == [.search("x")])
    }

    @Test("Keys move through the list, not past its ends")
    mutating func moving() {
        find(tracks)
        _ = screen.press(.up)
        #expect(screen.selected == 0)
        _ = press("jjjj")
        #expect(screen.selected == 2)
        _ = screen.press(.home)
        #expect(screen.selected == 0)
        _ = screen.press(.pageDown)
        #expect(screen.selected == 2)
        _ = press("k")
        #expect(screen.selectedRow?.title == tracks[1].title)
        find([])
        _ = press("jk")
        #expect(screen.selected == 0)
    }

    @Test("Keys act on what is selected")
    mutating func deeds() throws {
        find(tracks)
        let item = try #require(itemAt(1))
        let early = press("jprc")
        #expect(early.isEmpty, "there is no download yet")
        let downloads = press("d\n")
        #expect(downloads == [.download(item), .download(item)])
        screen.show(Download(item))
        let deeds = press("prc")
        #expect(deeds == [.pause(item.url), .resume(item.url), .cancel(item.url)])
    }

    @Test("A song without a preview isn't downloaded")
    mutating func noPreview() {
        var track = tracks[0]
        track.previewUrl = nil
        find([track])
        let deeds = press("d")
        #expect(deeds.isEmpty)
        #expect(screen.message.contains("no preview"))
    }

    @Test("Downloads stay in the list when something else is searched for, and aren't there twice")
    mutating func keeping() throws {
        find(tracks)
        screen.show(Download(try #require(itemAt(1))))
        find([tracks[2]])
        #expect(screen.rows.map(\.title) == [tracks[2].title, tracks[1].title])
        find(tracks)
        #expect(screen.rows.map(\.title) == tracks.map(\.title))
    }

    @Test("A cancelled search says nothing, a failed one why")
    mutating func failures() {
        screen.say("before")
        screen.show(.failure(URLError(.cancelled)), of: "x")
        #expect(screen.message == "before")
        screen.show(.failure(SearchError.status(500)), of: "x")
        #expect(screen.message.contains("500"))
    }

    @Test("It can be left at any time")
    mutating func leaving() {
        let deeds = [screen.press(.control("c")), screen.press(.control("z"))]
        #expect(deeds == [.quit, .suspend])
        let typed = press("q")
        #expect(typed.isEmpty, "that's part of a search term")
        _ = screen.press(.escape)
        let wish = press("q")
        #expect(wish == [.quit])
    }

    @Test(
        "The screen is as large as the terminal, and shows what is selected",
        arguments: [(80, 24), (20, 8), (200, 7)]
    )
    mutating func size(columns: Int, rows: Int) throws {
        let many = Song.all.map { Track($0, at: "http://h") }
        find(many)
        screen.show(Download(try #require(itemAt(3))))
        for _ in 0..<9 { _ = screen.press(.down) }
        let lines = ScreenView(columns: columns, rows: rows).lines(screen)
        #expect(lines.count == rows)
        for line in lines { #expect(line.replacing(/\u{1B}\[\d+m/, with: "").columns <= columns) }
        let selected = lines.filter { $0.hasPrefix("\u{1B}[7m") }
        #expect(selected.count == 1)
        #expect(selected.first?.contains(many[9].trackName.prefix(8)) == true)
    }
}
