/// A song of the embedded catalogue: what its search knows of it, and what its preview is made from.
struct Song: Sendable {
    let id: Int
    let title: String
    let artist: String
    let album: String
    let number: Int
    let genre: String
    /// The preview's checksum. It is written down and not computed, so that a download is compared with something
    /// that the code which made it had no hand in.
    let sha256: String
    /// How long a unit of the melody lasts, in milliseconds.
    let unit: Int
    let melody: String

    static let previewSeconds = 20

    /// The preview's place on the server.
    var path: String { "/previews/\(id).wav" }

    /// nil where the melody is misspelt.
    func preview() -> Preview? {
        Melody(melody).map {
            Preview(Synthesiser($0, unitMilliseconds: unit, seconds: Self.previewSeconds))
        }
    }

    /// The whole song's, once through.
    var milliseconds: Int { (Melody(melody)?.length ?? 0) * unit }
}
