import CurlNetworking
import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes is used with the keyboard")
struct HalfTunesScreenTests {
    private var screen = Screen(source: "test", folder: URL(fileURLWithPath: "/music"))
    private let tracks = Song.all.prefix(3).map { Track($0, at: "http://h") }

    private mutating func press(_ text: String) -> [Screen.Action] {
        text.compactMap { screen.press($0 == "\n" ? .enter : .character($0)) }
    }

    private mutating func find(_ tracks: [Track]) {
        screen.show(.success(tracks), of: "bach")
        _ = screen.press(.escape)
    }

    private func itemAt(_ index: Int) -> DownloadItem? { screen.rows[index].item }

    @Test("The screen begins with the search, and what is typed is searched for")
    mutating func search() {
        let typed = press("  jqd  px")
        #expect(typed.isEmpty)
        _ = screen.press(.backspace)
        let searches = press("\n")
        #expect(searches == [.search("jqd p")])
        #expect(screen.mode == .browsing)
        let actions = press("/x\n/\n")
        #expect(actions == [.search("x")])
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
    mutating func actions() throws {
        find(tracks)
        let item = try #require(itemAt(1))
        let downloads = press("jd\n")
        #expect(downloads == [.download(item), .download(item)])
        screen.show(Download(item))
        let actions = press("pc")
        #expect(actions == [.pause(item.url), .cancel(item.url)])
        var paused = Download(item)
        _ = paused.pause()
        screen.show(paused)
        let resuming = press("rd\nc")
        #expect(resuming == [.resume(item.url), .resume(item.url), .resume(item.url), .cancel(item.url)])
    }

    @Test("Keys that don't apply say so")
    mutating func refusals() throws {
        _ = screen.press(.escape)
        for key in "dprc\n" {
            let actions = press(String(key))
            #expect(actions.isEmpty)
            #expect(screen.message == "Nothing is selected: / searches.")
        }
        find(tracks)
        let early = press("p")
        #expect(early.isEmpty)
        #expect(screen.message == "There is nothing to pause: \(tracks[0].title) is not downloaded.")
        screen.show(Download(try #require(itemAt(0))))
        let late = press("r")
        #expect(late.isEmpty)
        #expect(screen.message == "There is nothing to resume: \(tracks[0].title) is waiting for a place.")
        let again = press("\n")
        #expect(again.isEmpty)
        #expect(screen.message == "There is nothing to play: \(tracks[0].title) is waiting for a place.")
        let unknown = press("x")
        #expect(unknown.isEmpty)
        #expect(screen.message == "There is no key x here.")
    }

    // MARK: - Playing

    private static func finished(_ item: DownloadItem) -> Download {
        var download = Download(item)
        _ = download.start(task: 1)
        _ = download.arrived(task: 1)
        _ = download.checked(isRight: true)
        return download
    }

    @Test("Enter plays what is downloaded, and stops it again; its path is shown")
    mutating func playing() throws {
        find(tracks)
        let item = try #require(itemAt(0))
        screen.show(Self.finished(item))
        #expect(screen.message == "Downloaded to /music/\(item.fileName)")
        let play = press("\n")
        #expect(play == [.play(item)])
        screen.startedPlaying(item, with: "mpv")
        #expect(screen.message == "Playing /music/\(item.fileName) with mpv")
        let stop = press("\n")
        #expect(stop == [.stopPlaying])
        screen.stoppedPlaying(nil)
        #expect(screen.message == "/music/\(item.fileName)")
        let replay = press("\n")
        #expect(replay == [.play(item)])
        _ = press("j")
        #expect(screen.message.isEmpty)
        _ = press("k")
        #expect(screen.message == "/music/\(item.fileName)")
        for key in "dprc" {
            let actions = press(String(key))
            #expect(actions.isEmpty)
            #expect(screen.message.hasSuffix("is downloaded."))
        }
    }

    @Test("A file that can't be played says why, and one that is gone can be downloaded again")
    mutating func notPlaying() throws {
        find(tracks)
        let item = try #require(itemAt(0))
        screen.show(Self.finished(item))
        screen.startedPlaying(item, with: "mpv")
        screen.stoppedPlaying("mpv has failed with status 2.")
        #expect(screen.message == "mpv has failed with status 2.")
        screen.forget(item.url)
        #expect(screen.message.contains("is gone"))
        let again = press("d")
        #expect(again == [.download(item)])
    }

    /// What can be done to the selected row, with its download changed so.
    private static func keys(of item: DownloadItem, on screen: Screen, _ change: (inout Download) -> Void) -> [String] {
        var (screen, download) = (screen, Download(item))
        change(&download)
        screen.show(download)
        return screen.help.filter { !["/ search", "↑↓ move", "q quit"].contains($0) }
    }

    @Test("The line of keys has what applies, and nothing else")
    mutating func help() throws {
        #expect(screen.help == ["enter search", "esc list", "ctrl-u clear", "ctrl-c quit"])
        _ = screen.press(.escape)
        #expect(screen.help == ["/ search", "q quit"])
        find(Array(tracks.prefix(1)))
        #expect(screen.help == ["/ search", "d download", "q quit"])
        find(tracks)
        let item = try #require(itemAt(0))
        #expect(screen.help == ["/ search", "↑↓ move", "d download", "q quit"])
        #expect(Self.keys(of: item, on: screen) { _ in } == ["p pause", "c cancel"])
        #expect(Self.keys(of: item, on: screen) { _ = $0.pause() } == ["r resume", "c cancel"])
        #expect(Self.keys(of: item, on: screen) { _ = $0.found(length: 1) } == [])
        #expect(Self.keys(of: item, on: screen) { _ = $0.cancel() } == ["d download"])
        #expect(Self.keys(of: item, on: screen) { $0 = Self.finished(item) } == ["enter play"])
        screen.startedPlaying(item, with: "mpv")
        #expect(Self.keys(of: item, on: screen) { $0 = Self.finished(item) } == ["enter stop"])
    }

    @Test("A song without a preview isn't downloaded")
    mutating func noPreview() {
        var track = tracks[0]
        track.previewUrl = nil
        find([track])
        let actions = press("d")
        #expect(actions.isEmpty)
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

    @Test("A cancelled search shows no message, and a failed one shows why")
    mutating func failures() {
        screen.say("before")
        screen.show(.failure(URLError(.cancelled)), of: "x")
        #expect(screen.message == "before")
        screen.show(.failure(SearchError.status(500)), of: "x")
        #expect(screen.message.contains("500"))
    }

    @Test("The screen can be left at any time")
    mutating func leaving() {
        let actions = [screen.press(.control("c")), screen.press(.control("z"))]
        #expect(actions == [.quit, .suspend])
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

    @Test("A search term that is longer than the screen is wide shows its end", arguments: [1, 8, 20])
    mutating func longTerm(columns: Int) {
        _ = press(String(repeating: "a", count: 30) + "日本")
        let line = ScreenView(columns: columns, rows: 9).lines(screen)[1].replacing(/\u{1B}\[\d+m/, with: "")
        #expect(line.columns <= columns)
        #expect(columns < 8 || line.hasSuffix("日本 "))
    }
}
