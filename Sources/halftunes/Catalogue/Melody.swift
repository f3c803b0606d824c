/// A tune: one voice, note by note.
///
/// Written as `C4 D#4:3 R:1`: a letter with or without a sharp, an octave up to 8, and a length in units (2 by default); `R` is a rest.
struct Melody: Sendable {
    struct Note: Sendable, Equatable {
        /// As in MIDI: 69 is A4, 440 Hz. nil is a rest.
        let pitch: Int?
        /// In units of the melody.
        let length: Int
    }

    let notes: [Note]

    /// nil if a word isn't a note.
    init?(_ text: String) {
        var notes: [Note] = []
        for word in text.split(separator: " ") {
            guard let note = Self.note(word) else { return nil }
            notes.append(note)
        }
        guard !notes.isEmpty else { return nil }
        self.notes = notes
    }

    /// In units.
    var length: Int { notes.reduce(0) { $0 + $1.length } }

    private static let steps: [Substring: Int] = [
        "C": 0, "C#": 1, "D": 2, "D#": 3, "E": 4, "F": 5, "F#": 6, "G": 7, "G#": 8, "A": 9, "A#": 10, "B": 11,
    ]

    private static func note(_ word: Substring) -> Note? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let name = parts.first, let length = parts.count == 1 ? 2 : Int(parts[1]), length > 0
        else { return nil }
        if name == "R" { return Note(pitch: nil, length: length) }
        guard let octave = name.last?.wholeNumberValue, octave <= 8, let step = steps[name.dropLast()] else {
            return nil
        }
        return Note(pitch: 12 * (octave + 1) + step, length: length)
    }
}
