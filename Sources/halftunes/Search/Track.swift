import Foundation

/// A song as the iTunes Search API describes it, with the fields used here.
///
/// Source: <https://developer.apple.com/library/archive/documentation/AudioVideo/Conceptual/iTuneSearchAPI/UnderstandingSearchResults.html>
struct Track: Codable, Equatable, Sendable {
    var wrapperType: String?
    var kind: String?
    var trackId: Int?
    var artistName: String
    var trackName: String
    var collectionName: String?
    var previewUrl: String?
    var trackTimeMillis: Int?
    var trackNumber: Int?
    var primaryGenreName: String?
    /// Of the preview's bytes, in hexadecimal digits. Only the embedded catalogue sends it.
    var previewSha256: String?

    /// The preview's address, if downloads may use it: the catalogue isn't trusted.
    var preview: URL? {
        previewUrl.flatMap(URL.init(webAddress:))
    }

    /// Its name in lists.
    var title: String { "\(trackName) – \(artistName)" }
}

struct SearchResult: Codable, Sendable {
    var resultCount: Int
    var results: [Track]

    init(_ tracks: [Track]) {
        resultCount = tracks.count
        results = tracks
    }

    /// Leaves out anything that isn't a track with a name, such as an album.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        results = try container.decode([Attempt].self, forKey: .results).compactMap(\.track)
        resultCount = results.count
    }

    /// An element that doesn't make the whole list fail.
    private struct Attempt: Decodable {
        let track: Track?

        init(from decoder: any Decoder) {
            track = try? Track(from: decoder)
        }
    }
}

extension URL {
    /// nil unless `text` is an http or https address with a host.
    init?(webAddress text: String) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            url.host?.isEmpty == false
        else { return nil }
        self = url
    }
}
