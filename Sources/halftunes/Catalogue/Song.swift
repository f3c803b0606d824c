/// A song of the embedded catalogue: the fields to search, and the score of its preview.
struct Song: Sendable {
    let id: Int
    let title: String
    let artist: String
    let album: String
    let number: Int
    let genre: String
    /// The preview's checksum. A literal rather than computed, so that a download is compared with something independent of the code that
    /// made it.
    let sha256: String
    /// How long a unit of the melody lasts, in milliseconds.
    let unit: Int
    let melody: String

    static let previewSeconds = 20

    /// The preview's path on the server.
    var path: String { "/previews/\(id).wav" }

    /// nil if the melody is misspelt.
    func preview() -> Preview? {
        Melody(melody).map {
            Preview(Synthesiser($0, unitMilliseconds: unit, seconds: Self.previewSeconds))
        }
    }

    /// The length of the whole song, played once.
    var milliseconds: Int { (Melody(melody)?.length ?? 0) * unit }
}
