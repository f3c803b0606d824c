import Foundation

/// The embedded catalogue and its search.
struct Catalogue: Sendable {
    let songs: [Song]

    static let embedded = Catalogue(songs: Song.all)

    /// The songs whose title, artist, album or genre contain every word of `term`, or a word that starts with it; none if there are no
    /// words.
    func songs(matching term: String) -> [Song] {
        let wanted = Self.words(term)
        guard !wanted.isEmpty else { return [] }
        return songs.filter { song in
            let present = Self.words("\(song.title) \(song.artist) \(song.album) \(song.genre)")
            return wanted.allSatisfy { word in present.contains { $0.hasPrefix(word) } }
        }
    }

    func song(id: Int) -> Song? {
        songs.first { $0.id == id }
    }

    /// Without case and accents, so that `frere` finds Frère Jacques.
    private static func words(_ text: String) -> [Substring] {
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            .split { !$0.isLetter && !$0.isNumber }
    }

    /// The checksums in the format of `sha256sum --check`.
    var checksums: String {
        songs.map { "\($0.sha256)  \($0.id).wav\n" }.joined()
    }
}

extension Track {
    /// A song of the embedded catalogue at `server`, such as `http://127.0.0.1:8080`.
    init(_ song: Song, at server: String) {
        wrapperType = "track"
        kind = "song"
        trackId = song.id
        artistName = song.artist
        trackName = song.title
        collectionName = song.album
        previewUrl = server + song.path
        trackTimeMillis = song.milliseconds
        trackNumber = song.number
        primaryGenreName = song.genre
        previewSha256 = song.sha256
    }
}
