import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes puts files where they belong")
struct HalfTunesFileTests {
    // MARK: - Names

    @Test(
        "Names from the network are plain names",
        arguments: [
            ("Song.m4a", "Song.m4a"), ("../../etc/passwd", "-..-etc-passwd"), ("/etc/passwd", "-etc-passwd"),
            ("..", "untitled"), ("", "untitled"), (".hidden", "hidden"), ("a\\b:c", "a-b-c"), ("  a \t b\n", "a b"),
            ("a\0b\u{1B}c", "a b c"), ("gpj\u{202E}exe.mp3", "gpjexe.mp3"), ("Für Elise", "Für Elise"),
            ("a.resume", "a-resume"), ("a.wav.Upload", "a.wav-Upload"), (".resume", "resume"),
            (".\u{301}hidden", "\u{301}hidden"),
        ]
    )
    func sanitising(text: String, name: String) {
        #expect(FileName.sanitised(text) == name)
    }

    @Test("Long names are cut, and keep their extension")
    func length() {
        let name = FileName.sanitised(String(repeating: "日本", count: 300) + ".m4a")
        #expect(name.utf8.count <= 200)
        #expect(name.hasSuffix("日.m4a") || name.hasSuffix("本.m4a"))
        #expect(FileName.sanitised(String(repeating: "x", count: 300)).utf8.count == 200)
        let character = FileName.sanitised("e" + String(repeating: "\u{301}", count: 300) + ".m4a")
        #expect(character.utf8.count <= 200 && character.unicodeScalars.first == "e" && character.hasSuffix(".m4a"))
        let ending = String(repeating: "x", count: 193) + ".resume"
        #expect(FileName.sanitised(ending + "d.longextension") == ending.replacing(".", with: "-"))
    }

    @Test(
        "A name stays as it is when it is checked again, numbered or not",
        arguments: ["日本", "x", "x ", " (2).", "e\u{301}"],
        [0, 1, 2, 3]
    )
    func stable(unit: String, extra: Int) throws {
        let text = String(repeating: "y", count: extra) + String(repeating: unit, count: 300) + ".m4a"
        for text in [text, String(text.dropLast(4))] {
            let name = FileName.sanitised(text)
            let numbered = FileName.distinct(name, from: [name])
            #expect(numbered != name)
            for name in [name, numbered] {
                #expect(FileName.sanitised(name) == name)
                let item = DownloadItem(url: try Sample.url("http://h/a"), fileName: name, title: "A")
                #expect(DownloadItem(description: item.description) == item)
            }
        }
    }

    @Test("A file isn't put where another's pause file is")
    func pauseFilesName() throws {
        let directory = try TemporaryDirectory()
        let folder = try DownloadFolder(directory.url.path)
        let items = GetCommand.items([try Sample.url("http://h/a"), try Sample.url("http://h/a.resume")])
        #expect(items.count == 2)
        #expect(folder.destination(of: items[1]) != folder.pauseFileURL(of: items[0]))
    }

    @Test("A URL's last part is its file's name, decoded and then made harmless")
    func ofURL() throws {
        func name(_ text: String) throws -> String { FileName.of(try #require(URL(string: text))) }
        #expect(try name("http://h/a/b.wav?x=/y") == "b.wav")
        #expect(try !name("http://h/a%2F..%2F..%2Fb").contains("/"))
        #expect(try name("http://example.org") == "example.org")
        #expect(try !name("http://h/a%1B%5B2J").contains("\u{1B}"))
    }

    @Test("A track's file is called after it, with an extension only if it looks like one")
    func ofTrack() throws {
        var track = Track(Song.all[0], at: "http://h")
        track.artistName = "AC/DC"
        track.trackName = "T.N.T."
        #expect(FileName.of(track, preview: try #require(URL(string: "http://h/x.M4A"))) == "AC-DC - T.N.T..m4a")
        #expect(FileName.of(track, preview: try #require(URL(string: "http://h/x.a%2Fb"))) == "AC-DC - T.N.T.")
    }

    @Test("Namesakes are told apart")
    func namesakes() {
        #expect(FileName.distinct("a.wav", from: []) == "a.wav")
        #expect(FileName.distinct("a.wav", from: ["a.wav", "a (2).wav"]) == "a (3).wav")
        #expect(FileName.distinct("a", from: ["a"]) == "a (2)")
    }

    @Test("A file gets another name than a paused one from elsewhere, and a paused one keeps its own")
    func pausedNamesakes() throws {
        let (a, b, c) = (try Sample.url("http://a/x"), try Sample.url("http://b/x"), try Sample.url("http://c/x"))
        let first = DownloadItem(url: a, fileName: "x", title: "x")
        let second = try #require(GetCommand.items([b], beside: [first]).first)
        #expect(second.fileName == "x (2)")
        #expect(GetCommand.items([b, a, c], beside: [first, second]).map(\.fileName) == ["x (2)", "x", "x (3)"])
        // The first is complete: it doesn't give its name to the second, whose paused download would be lost.
        #expect(GetCommand.items([b], beside: [second]).map(\.fileName) == ["x (2)"])
        // What isn't a plain name stays where it is.
        let odd = DownloadItem(url: a, fileName: ".x", title: "x")
        #expect(GetCommand.items([a], beside: [odd]).map(\.fileName) == ["x"])

        let track = Track(Song.all[0], at: "http://h")
        let preview = try #require(track.preview)
        let name = FileName.of(track, preview: preview)
        let other = DownloadItem(url: a, fileName: name, title: "x")
        let item = try #require(DownloadItem.items(for: [track], beside: [other]).first)
        #expect(item.fileName == FileName.distinct(name, from: [name]))
    }

    // MARK: - Pause files

    private static let item = DownloadItem(
        url: URL(fileURLWithPath: "/"),
        fileName: "song.wav",
        title: "Song",
        sha256: "00"
    )

    private static func item(_ address: String) throws -> DownloadItem {
        var item = item
        item.url = try #require(URL(string: address))
        return item
    }

    private static func pauseFile(_ address: String) throws -> PauseFile {
        var download = Download(try item(address))
        _ = download.start(task: 1)
        _ = download.wrote(total: 40, expected: 100)
        _ = download.pause()
        _ = download.paused(task: 1, resumeData: Data("where it was".utf8))
        return try #require(PauseFile(download))
    }

    @Test("A pause file is private, and says everything that is needed to go on")
    func pauseFile() throws {
        let directory = try TemporaryDirectory()
        let folder = try DownloadFolder(directory.url.path)
        let written = try Self.pauseFile("http://h/song.wav")
        try folder.save(written)
        #expect(directory.content == [".halftunes", "song.wav.resume"])
        let file = folder.pauseFileURL(of: written.item)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try PauseFile(contentsOf: file) == written)
        #expect(folder.pauseFile(of: written.item) == written)
        #expect(folder.pauseFile(of: try Self.item("http://other/song.wav")) == nil)

        let download = Download(written.item, paused: written)
        #expect(download.state == .paused(resumeData: Data("where it was".utf8)))
        #expect(download.received == 40)
        #expect(download.expected == 100)

        folder.removePauseFile(of: written.item)
        #expect(folder.pauseFiles.isEmpty)
    }

    @Test("A forged pause file names no file but its own")
    func forgery() throws {
        let directory = try TemporaryDirectory()
        var forged = try Self.pauseFile("http://h/song.wav")
        forged.item.fileName = "../../etc/passwd"
        try forged.write(to: directory.url.appendingPathComponent("harmless.wav.resume"), by: directory.url)
        #expect(try DownloadFolder(directory.url.path).pauseFiles.map(\.item.fileName) == ["harmless.wav"])

        forged.item.url = URL(fileURLWithPath: "/etc/passwd")
        let file = directory.url.appendingPathComponent("other.resume")
        try forged.write(to: file, by: directory.url)
        #expect(throws: PauseFileError.self) { try PauseFile(contentsOf: file) }
    }

    @Test(
        "A file that isn't in the right format is no pause file",
        arguments: ["", "<plist/>", "bplist00", "nonsense"]
    )
    func nonsense(text: String) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("song.wav.resume", Data(text.utf8))
        #expect(throws: PauseFileError.self) { try PauseFile(contentsOf: file) }
        #expect(throws: SystemCallError.self) { try PauseFile(contentsOf: directory.url.appendingPathComponent("no")) }
        #expect(throws: PauseFileError.self) { try PauseFile(contentsOf: directory.url) }
    }

    @Test("A pause file nested so deeply that reading it would crash is none, and hides no other")
    func nesting() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.wav.resume", Sample.propertyList(nested: 20_000))
        #expect(throws: PauseFileError.self) { try PauseFile(contentsOf: file) }
        let folder = try DownloadFolder(directory.url.path)
        try folder.save(Self.pauseFile("http://h/song.wav"))
        #expect(folder.pauseFiles.map(\.item.fileName) == ["song.wav"])
    }

    @Test(
        "A title may have characters that XML can't",
        arguments: ["a\0b", "\u{1}", "\u{FFFE}", "<array>", "]]>", "\r\n"]
    )
    func title(_ title: String) throws {
        let directory = try TemporaryDirectory()
        let folder = try DownloadFolder(directory.url.path)
        var written = try Self.pauseFile("http://h/song.wav")
        written.item.title = title
        try folder.save(written)
        #expect(folder.pauseFile(of: written.item) == written)
    }

    // MARK: - The folder

    @Test("Partial files stay while another program uses the folder, or a pause file names them")
    func tidying() throws {
        let directory = try TemporaryDirectory()
        let path = directory.url.appendingPathComponent("a/b").path
        let (first, second) = (try DownloadFolder(path), try DownloadFolder(path))
        let litter = first.partials.appendingPathComponent("CurlNetworkingDownload_0.tmp")
        let needed = first.partials.appendingPathComponent("where it was.tmp")
        for file in [litter, needed] { try Data("part".utf8).write(to: file) }
        var pauseFile = try Self.pauseFile("http://h/song.wav")
        pauseFile.resumeData = Data("<string>where it was.tmp</string>".utf8)
        try first.save(pauseFile)

        second.tidy()
        let third = try DownloadFolder(path)
        #expect(FileManager.default.fileExists(atPath: litter.path), "others use it")
        withExtendedLifetime((first, second, third)) {}
    }

    @Test("Files that a killed program has left go when the next one comes, but for those that a pause file names")
    func sweeping() throws {
        let directory = try TemporaryDirectory()
        do {
            let folder = try DownloadFolder(directory.url.path)
            for name in ["CurlNetworkingDownload_0.tmp", "CurlNetworkingDownload_1.tmp", "x.tmp"] {
                try Data("part".utf8).write(to: folder.partials.appendingPathComponent(name))
            }
            var pauseFile = try Self.pauseFile("http://h/song.wav")
            pauseFile.resumeData = Data("<string>CurlNetworkingDownload_1.tmp</string>".utf8)
            try folder.save(pauseFile)
        }
        let next = try DownloadFolder(directory.url.path)
        let partials = try FileManager.default.contentsOfDirectory(atPath: next.partials.path)
        #expect(partials == ["CurlNetworkingDownload_1.tmp"])
        next.tidy()
        #expect(directory.content == [".halftunes", "song.wav.resume"])
    }

    @Test("A pause file of another address is neither removed nor replaced for its namesake")
    func namesakesPauseFile() throws {
        let directory = try TemporaryDirectory()
        let folder = try DownloadFolder(directory.url.path)
        try folder.save(Self.pauseFile("http://h/song.wav"))
        folder.removePauseFile(of: try Self.item("http://other/song.wav"))
        #expect(throws: PauseFileError.self) { try folder.save(Self.pauseFile("http://other/song.wav")) }
        #expect(folder.pauseFiles.map(\.item.url) == [try Sample.url("http://h/song.wav")])
        try folder.save(Self.pauseFile("http://h/song.wav"))
    }

    @Test("With nothing paused and no other program there, only the finished files are left")
    func tidyingEverything() throws {
        let directory = try TemporaryDirectory()
        let folder = try DownloadFolder(directory.url.path)
        try Data("part".utf8).write(to: folder.partials.appendingPathComponent("CurlNetworkingDownload_0.tmp"))
        let arrived = try directory.file("arrived", Data("song".utf8))
        let item = try Self.item("http://h/song.wav")
        #expect(folder.length(of: item) == nil)
        let arrival = try folder.accept(arrived, of: item)
        #expect(folder.length(of: item) == nil)
        try folder.install(arrival, as: item)
        #expect(folder.length(of: item) == 4)
        folder.tidy()
        #expect(directory.content == ["song.wav"])
    }

    @Test("A file that a killed program has downloaded and not checked is kept for its address, and for no other")
    func uncheckedArrival() throws {
        let directory = try TemporaryDirectory()
        let item = try Self.item("http://h/song.wav")
        do {
            let folder = try DownloadFolder(directory.url.path)
            #expect(folder.uncheckedArrival(of: item)?.length == nil)
            _ = try folder.accept(directory.file("arrived", Data("song".utf8)), of: item)
        }
        try DownloadFolder(directory.url.path).tidy()
        let folder = try DownloadFolder(directory.url.path)
        let arrival = try #require(folder.uncheckedArrival(of: item))
        #expect(arrival.length == 4)
        #expect(folder.uncheckedArrival(of: try Self.item("http://other/song.wav"))?.length == nil)
        #expect(directory.content == [".halftunes"])
        try folder.install(arrival, as: item)
        #expect(folder.uncheckedArrival(of: item)?.length == nil)
        folder.tidy()
        #expect(directory.content == ["song.wav"])
    }

    @Test("Programs that download from the same address at once keep to their own files, and all succeed")
    func arrivalsAtOnce() throws {
        let directory = try TemporaryDirectory()
        let item = try Self.item("http://h/song.wav")
        let folders = try (0..<3).map { _ in try DownloadFolder(directory.url.path) }
        let arrivals = try folders.enumerated().map { number, folder in
            let file = try directory.file("\(number)", Data("song".utf8))
            // The session has its own lock as long as it reports the download.
            let session = try FileHandle(forReadingFrom: file)
            defer { try? session.close() }
            #expect(flock(session.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
            return try folder.accept(file, of: item)
        }
        #expect(Set(arrivals.map(\.file)).count == 3)
        let latecomer = try DownloadFolder(directory.url.path)
        #expect(latecomer.uncheckedArrival(of: item)?.file == nil)
        try folders[0].install(arrivals[0], as: item)
        folders[1].remove(arrivals[1])
        try folders[2].install(arrivals[2], as: item)
        for folder in folders { folder.tidy() }
        latecomer.tidy()
        #expect(latecomer.length(of: item) == 4)
        withExtendedLifetime(arrivals) {}
    }

    @Test("A folder that can't be had is an error that says which")
    func impossible() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", Data())
        let error = try #require(throws: SystemCallError.self) { try DownloadFolder(file.path) }
        #expect(error.localizedDescription.contains(file.path))
        #expect(throws: SystemCallError.self) { try DownloadFolder("/proc/none") }
    }
}
