import CurlNetworking
import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes searches a catalogue")
struct HalfTunesSearchTests {
    /// As Apple's service answers, shortened; with an album and nonsense among the songs.
    private static let answer = """
        {"resultCount":5, "results": [
        {"wrapperType":"track", "kind":"song", "artistId":909253, "collectionId":1469577723, "trackId":1469577741,
        "artistName":"Jack Johnson", "collectionName":"Jack Johnson and Friends", "trackName":"Upside Down",
        "previewUrl":"https://audio-ssl.itunes.apple.com/itunes-assets/mzaf_34.plus.aac.p.m4a",
        "artworkUrl30":"https://is1-ssl.mzstatic.com/30x30bb.jpg", "trackPrice":1.29, "trackTimeMillis":208643,
        "releaseDate":"2005-01-01T12:00:00Z", "isStreamable":true, "primaryGenreName":"Rock"},
        {"wrapperType":"collection", "collectionName":"An Album"},
        {"artistName":"A", "trackName":"No preview"},
        {"artistName":"A", "trackName":"Somewhere else", "previewUrl":"file:///etc/passwd"},
        17]}
        """

    @Test("The answer's songs are taken, and the rest of it is left")
    func decoding() throws {
        let result = try JSONDecoder().decode(SearchResult.self, from: Data(Self.answer.utf8))
        #expect(result.results.map(\.trackName) == ["Upside Down", "No preview", "Somewhere else"])
        let track = try #require(result.results.first)
        #expect(track.artistName == "Jack Johnson")
        #expect(track.trackTimeMillis == 208_643)
        #expect(track.preview?.host == "audio-ssl.itunes.apple.com")
        #expect(result.results.dropFirst().allSatisfy { $0.preview == nil })
        #expect(DownloadItem.items(for: result.results).map(\.fileName) == ["Jack Johnson - Upside Down.m4a"])
    }

    @Test("An answer that isn't a search result is an error")
    func nonsense() {
        for text in ["", "[]", "{}", "<html>", #"{"results":7}"#] {
            #expect(throws: (any Error).self) { try JSONDecoder().decode(SearchResult.self, from: Data(text.utf8)) }
        }
    }

    @Test("The query is encoded, down to plus signs and ampersands")
    func url() throws {
        let api = try #require(URL(string: "https://itunes.apple.com/"))
        let url = try #require(SearchService.url(api: api, term: "C+C & Ärger?", limit: 5))
        #expect(
            url.absoluteString == "https://itunes.apple.com/search?media=music&entity=song&limit=5"
                + "&term=C%2BC%20%26%20%C3%84rger?"
        )
    }

    @Test("Songs are listed in columns, without what could steer the terminal")
    func list() {
        var odd = Track(Song.all[0], at: "http://h")
        odd.trackName = "Evil\u{1B}[2J\u{202E}"
        let lines = SearchCommand.lines([Track(Song.all[1], at: "http://h"), odd])
        #expect(
            lines == [
                "Prelude in C  The Loopback Quartet  Bach for Beginners   0:35  http://h/previews/1002.wav",
                "Evil [2J\u{FFFD}     The Loopback Quartet  Bach for Beginners   0:20  http://h/previews/1001.wav",
            ]
        )
    }
}
