/// The actions on the selected row, one key each.
enum RowCommand: CaseIterable {
    case play, stop, download, pause, resume, cancel

    /// The actions that apply to a song, in the order in which the keys are shown.
    ///
    /// - Parameter download: nil if none of the song has been downloaded.
    static func applicable(to download: Download?, isPlaying: Bool) -> [RowCommand] {
        switch download?.state {
        case nil, .cancelled: [.download]
        case .waiting, .running: [.pause, .cancel]
        case .pausing: [.cancel]
        case .paused, .failed: [.resume, .cancel]
        case .checking: []
        case .finished: [isPlaying ? .stop : .play]
        }
    }

    /// The actions on this key: whichever applies, with the first giving the key its name; empty for keys that aren't about rows.
    static func wishes(of key: Key) -> [RowCommand] {
        switch key {
        case .enter: [.play, .stop, .download, .resume]
        case .character("d"): [.download, .resume]
        case .character("p"): [.pause]
        case .character("r"): [.resume]
        case .character("c"): [.cancel]
        default: []
        }
    }

    /// With its key, for the line that explains the keys.
    var help: String {
        switch self {
        case .play: "enter play"
        case .stop: "enter stop"
        case .download: "d download"
        case .pause: "p pause"
        case .resume: "r resume"
        case .cancel: "c cancel"
        }
    }

    var name: String {
        switch self {
        case .play: "play"
        case .stop: "stop"
        case .download: "download"
        case .pause: "pause"
        case .resume: "resume"
        case .cancel: "cancel"
        }
    }
}

extension Download {
    /// Its state, to follow "is".
    var condition: String {
        switch state {
        case .waiting: "waiting for a place"
        case .running: "being downloaded"
        case .pausing: "pausing"
        case .paused: "paused"
        case .checking: "being checked"
        case .finished: "downloaded"
        case .cancelled: "cancelled"
        case .failed: "not complete"
        }
    }
}
