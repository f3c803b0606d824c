import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes writes to terminals")
struct HalfTunesTerminalTests {
    // MARK: - Text

    @Test(
        "Text is as wide as it looks",
        arguments: [("", 0), ("abc", 3), ("Für", 3), ("Fu\u{308}r", 3), ("日本", 4), ("ｶﾅ", 2), ("🎵", 2), ("━", 1)]
    )
    func columns(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test("Text is cut or filled to a width")
    func fitting() {
        #expect("abc".fitted(to: 5) == "abc  ")
        #expect("abc".fitted(to: 3) == "abc")
        #expect("abcd".fitted(to: 3) == "ab…")
        #expect("日本語".fitted(to: 6) == "日本語")
        #expect("日本語".fitted(to: 5) == "日本…")
        #expect("日本語".fitted(to: 4) == "日… ")
        #expect("abc".fitted(to: 0).isEmpty)
        #expect("7".fittedRight(to: 3) == "  7")
    }

    @Test("Characters that could steer the terminal are made visible")
    func printable() {
        #expect("a\u{1B}[31mb\u{9B}c\n".printable == "a [31mb c ")
        #expect("x\u{202E}y".printable == "x\u{FFFD}y")
        #expect("Für 日本 🎵".printable == "Für 日本 🎵")
    }

    @Test(
        "A shell takes a quoted word for what it was",
        arguments: [
            ("/home/me/music", "/home/me/music"), ("my music", "'my music'"), ("it's", "'it'\\''s'"), ("", "''"),
            ("a$b", "'a$b'"), ("~", "'~'"), ("Für", "'Für'"), ("a'\u{301}b", "'a'\\''\u{301}b'"),
        ]
    )
    func shellWords(text: String, word: String) {
        #expect(text.shellWord == word)
    }

    @Test(
        "Numbers of bytes are short, or exact",
        arguments: [
            (0, "0 B", "0"), (999, "999 B", "999"), (1000, "1.0 kB", "1,000"), (3_528_044, "3.5 MB", "3,528,044"),
            (999_949, "1.0 MB", "999,949"), (99_940_000, "99.9 MB", "99,940,000"),
            (123_456_789, "123 MB", "123,456,789"),
            (Int64.max, "9223372 TB", "9,223,372,036,854,775,807"),
        ]
    )
    func bytes(bytes: Int64, short: String, exact: String) {
        #expect(ByteCount.short(bytes) == short)
        #expect(ByteCount.exact(bytes) == exact)
    }

    // MARK: - Progress lines

    private static func download(total: Int64? = 3_528_044, received: Int64 = 1_411_217) throws -> Download {
        let url = try #require(URL(string: "http://h/song.wav"))
        var download = Download(DownloadItem(url: url, fileName: "song.wav", title: "Prelude in C"))
        _ = download.start(task: 1)
        if received > 0 { _ = download.wrote(total: received, expected: total) }
        return download
    }

    @Test("A line has a title, a bar, a percentage and how it stands, and fills the terminal")
    func line() throws {
        let line = ProgressLine(glyphs: .ascii, columns: 80).text(try Self.download())
        #expect(line == "Prelude in C               #####.........  39 % 1.4 MB of 3.5 MB".fitted(to: 80))
        for columns in [20, 40, 60, 100, 200] {
            #expect(ProgressLine(glyphs: .unicode, columns: columns).text(try Self.download()).columns == columns)
        }
    }

    @Test("There is no bar as long as the file's length isn't known")
    func unknownLength() throws {
        let line = ProgressLine(glyphs: .ascii, columns: 80).text(try Self.download(total: nil))
        #expect(!line.contains("#") && !line.contains("%"))
        #expect(line.contains("1.4 MB"))
    }

    @Test("A bar is empty at the beginning and full only at the end")
    func bar() {
        let line = ProgressLine(glyphs: .unicode, columns: 80)
        #expect(line.bar(0, columns: 4) == "────")
        #expect(line.bar(0.5, columns: 4) == "━━──")
        #expect(line.bar(0.999, columns: 4) == "━━━─")
        #expect(line.bar(1, columns: 4) == "━━━━")
        #expect(line.bar(7, columns: 4) == "━━━━")
    }

    @Test("The glyphs suit the locale")
    func glyphs() {
        #expect(ProgressLine.Glyphs.suitable(for: ["LANG": "de_DE.UTF-8"]) == .unicode)
        #expect(ProgressLine.Glyphs.suitable(for: ["LANG": "C.utf8"]) == .unicode)
        #expect(ProgressLine.Glyphs.suitable(for: ["LC_ALL": "C", "LANG": "de_DE.UTF-8"]) == .ascii)
        #expect(ProgressLine.Glyphs.suitable(for: [:]) == .ascii)
    }

    @Test("How a download stands is said in few words")
    func status() throws {
        var download = try Self.download()
        _ = download.pause()
        #expect(ProgressLine.status(of: download) == "pausing")
        _ = download.paused(task: 1, resumeData: Data())
        #expect(ProgressLine.status(of: download) == "paused at 1.4 MB of 3.5 MB")
        var failed = try Self.download()
        _ = failed.fail(task: 1, message: "status 404", isTransient: false)
        #expect(ProgressLine.status(of: failed) == "failed: status 404")
        var done = try Self.download()
        _ = done.arrived(task: 1)
        _ = done.checked(isRight: true)
        #expect(ProgressLine.status(of: done) == "done, SHA-256 ok")
    }

    @Test("A pause that has kept nothing is no pause at a byte")
    func nothingKept() throws {
        var download = try Self.download()
        _ = download.pause()
        _ = download.paused(task: 1, resumeData: nil)
        #expect(ProgressLine.status(of: download) == "paused")
        #expect(PlainLine(download)?.text == "paused")
        #expect(download.fraction == 0)
    }

    // MARK: - Plain lines

    @Test("Without a terminal, progress is reported in steps, and everything else as it happens")
    func plain() throws {
        let lines = Lines()
        var reporter = PlainReporter(step: 0.5) { lines.append($0) }
        var download = try Self.download(received: 0)
        reporter.note(download)
        for received in [10, 49, 50, 70, 99] {
            _ = download.wrote(total: Int64(received), expected: 100)
            reporter.note(download)
        }
        _ = download.arrived(task: 1)
        _ = download.checked(isRight: nil)
        reporter.note(download)
        reporter.finish(["That's it."])
        #expect(
            lines.all == [
                "song.wav: started", "song.wav: at 50 of 100 bytes (50 %)", "song.wav: done, 99 bytes", "That's it.",
            ]
        )
    }

    @Test(
        "A program can read plain lines back",
        arguments: [
            PlainLine.started, .resumed(at: 7, of: 100), .resumed(at: 7, of: nil), .progress(8, of: 100),
            .progress(8, of: nil), .paused(at: 9, of: 100), .done("100 bytes, SHA-256 ok"), .cancelled,
            .failed("status 404"),
        ]
    )
    func readingBack(line: PlainLine) {
        #expect(PlainLine("a: b.wav: \(line.text)", about: "a: b.wav") == line)
        #expect(PlainLine("other.wav: \(line.text)", about: "a: b.wav") == nil)
    }

    @Test(
        "A text that isn't a plain line isn't taken for one",
        arguments: ["", "song.wav:", "song.wav: ", "song.wav: resumed at x"]
    )
    func otherLines(text: String) {
        #expect(PlainLine(text, about: "song.wav") == nil)
    }

    // MARK: - Keys

    @Test(
        "Keys are recognised, alone and in a row",
        arguments: [
            (
                "aß/\r\u{7F}\u{3}",
                [Key.character("a"), .character("ß"), .character("/"), .enter, .backspace, .control("c")]
            ),
            ("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~", [.up, .down, .pageUp, .pageDown, .home, .end]),
            ("\u{1B}", [.escape]),
            ("\u{1B}r", [.escape, .character("r")]),
            ("\u{1B}[1;5C\u{1B}[15~q", [.character("q")]),
        ]
    )
    func keys(bytes: String, keys: [Key]) {
        var parser = KeyParser()
        let parsed = parser.keys(in: bytes.utf8)
        #expect(parsed == keys)
    }

    @Test("Characters and sequences may come in pieces, and nonsense does no harm")
    func pieces() {
        var parser = KeyParser()
        let pieces: [[UInt8]] = [[0xC3], [0x9F], [0x1B, 0x5B], [0x41], [0xFF], [0x61, 0x61, 0x61, 0x62]]
        let keys = pieces.map { parser.keys(in: $0) }
        #expect(keys.dropLast() == [[], [.character("ß")], [], [.up], []])
        #expect(keys.last?.last == .character("b"))
    }
}

/// Lines that were written.
private final class Lines: @unchecked Sendable {
    // @unchecked is true because the lock guards the lines.
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }

    func append(_ line: String) {
        lock.withLock { lines.append(line) }
    }
}
