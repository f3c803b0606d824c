import Foundation

/// The user's folders for a program's files (XDG Base Directory Specification).
enum UserFolder {
    case cache
    case state

    /// Foundation looks for some of them in /home if `HOME` isn't set.
    func url(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let (variable, usual) =
            switch self {
            case .cache: ("XDG_CACHE_HOME", ".cache")
            case .state: ("XDG_STATE_HOME", ".local/state")
            }
        let path = folder(variable) ?? (folder("HOME") ?? NSHomeDirectory()) + "/" + usual
        return URL(fileURLWithPath: path, isDirectory: true)
    }

    /// The running program's name, for its folders in these.
    static var programName: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

    /// For files that are needed for a moment: `TMPDIR` if that names one, otherwise /tmp.
    static func temporary(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
        environment["TMPDIR"]?.isEmpty == true
            ? URL(fileURLWithPath: "/tmp", isDirectory: true) : FileManager.default.temporaryDirectory
    }
}
