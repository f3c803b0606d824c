import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes understands its command line")
struct HalfTunesCommandLineTests {
    @Test("Without arguments Half Tunes is interactive, with the embedded catalogue")
    func nothing() throws {
        let invocation = try Invocation(parsing: [])
        #expect(invocation.verb == .interactive)
        #expect(invocation.api == nil)
        #expect(invocation.directory == nil)
        #expect(invocation.parallel == 4)
    }

    @Test(
        "Options may be written in every usual way, before or behind operands",
        arguments: [
            ["get", "-o", "dir", "--parallel", "3", "http://host/a"],
            ["get", "-odir", "-j3", "http://host/a"],
            ["get", "http://host/a", "--output=dir", "--parallel=3"],
            ["get", "--output", "dir", "-j", "3", "--", "http://host/a"],
        ]
    )
    func spellings(arguments: [String]) throws {
        let invocation = try Invocation(parsing: arguments)
        #expect(invocation.verb == .get)
        #expect(invocation.directory == "dir")
        #expect(invocation.parallel == 3)
        #expect(invocation.operands == ["http://host/a"])
    }

    @Test("Each command takes what it needs")
    func commands() throws {
        #expect(try Invocation(parsing: ["-o", "music"]).directory == "music")
        #expect(try Invocation(parsing: ["demo"]).verb == .demo)
        #expect(try Invocation(parsing: ["search", "jack", "johnson"]).searchTerm == "jack johnson")
        #expect(try Invocation(parsing: ["get", "-s", "bach", "--limit", "7"]).limit == 7)
        let api = try Invocation(parsing: ["search", "x", "--api", "https://itunes.apple.com"]).api
        #expect(api?.absoluteString == "https://itunes.apple.com")
        let serve = try Invocation(parsing: ["serve", "--port", "0", "--rate=5000"])
        #expect(serve.port == 0)
        #expect(serve.rate == 5000)
        #expect(try Invocation(parsing: ["play", "a song.wav"]).operands == ["a song.wav"])
        #expect(try Invocation(parsing: ["upload", "a.wav"]).api == nil)
        #expect(try Invocation(parsing: ["upload", "a.wav", "--api", "http://h"]).operands == ["a.wav"])
        #expect(try Invocation(parsing: ["resume", "a.resume"]).operands == ["a.resume"])
        #expect(try Invocation(parsing: ["get", "-b", "http://h/"]).isBackground)
        #expect(try Invocation(parsing: ["get", "http://h/", "--background"]).isBackground)
        #expect(try Invocation(parsing: ["stop", "-o", "music"]).directory == "music")
    }

    @Test(
        "Help can be had everywhere, whatever else is missing",
        arguments: [
            (["--help"], Invocation.Verb.interactive), (["-h"], .interactive), (["help"], .interactive),
            (["get", "--help"], .get), (["help", "serve"], .serve), (["search", "-h"], .search),
            (["demo", "-h"], .demo), (["help", "play"], .play), (["stop", "-h"], .stop),
            (["upload", "-h"], .upload),
        ]
    )
    func help(arguments: [String], verb: Invocation.Verb) throws {
        let invocation = try Invocation(parsing: arguments)
        #expect(invocation.wantsHelp)
        #expect(invocation.verb == verb)
        #expect(invocation.verb.help.contains("usage: halftunes"))
    }

    @Test(
        "A command line that makes no sense is refused with a reason",
        arguments: [
            ["play"], ["play", "a", "b"], ["play", ""], ["play", "a", "--rate", "1"], ["dance"], ["help", "dance"],
            ["--fast"], ["demo", "now"], ["search"], ["get"],
            ["get", "-s", "a", "http://h/"],
            ["get", "ftp://host/file"], ["get", "file:///etc/passwd"], ["get", "host/file"], ["get", "-o"],
            ["get", "-o", "", "http://h/"], ["get", "-j", "0", "http://h/"], ["get", "-j", "x", "http://h/"],
            ["get", "-j", "65", "http://h/"], ["get", "--search="], ["get", "--port", "1", "http://h/"],
            ["serve", "--port", "65536"], ["serve", "--rate", "0"], ["search", "x", "--api", "itunes.apple.com"],
            ["search", "x", "--api", "https://h/?a=b"], ["get", "-s", "x", "--api", "http://h", "--rate", "1"],
            ["resume"], ["resume", "a", "b"], ["upload"], ["upload", "a", "b"], ["upload", "a", "-o", "b"],
            ["demo", "--help=yes"], ["search", "x", "--limit", "201"],
            ["get", "--background=yes", "http://h/"], ["search", "x", "--background"], ["stop", "now"],
        ]
    )
    func refusal(arguments: [String]) throws {
        let error = try #require(throws: UsageError.self) { try Invocation(parsing: arguments) }
        #expect(error.message.hasSuffix(".") || error.message.hasSuffix("?"))
    }

    @Test("Each URL is downloaded once, under a name of its own")
    func items() throws {
        let urls = ["http://h/a/x.mp3", "http://h/b/x.mp3", "http://h/a/x.mp3", "http://h/"].compactMap(
            URL.init(string:)
        )
        #expect(GetCommand.items(urls).map(\.fileName) == ["x.mp3", "x (2).mp3", "h"])
    }
}
