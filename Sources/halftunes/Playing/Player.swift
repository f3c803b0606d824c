import Foundation

/// The program that plays files: the one named by `HALFTUNES_PLAYER`, or else the first known one that is installed.
struct Player: Equatable, Sendable {
    static let variable = "HALFTUNES_PLAYER"

    /// With options that keep them from drawing on the terminal.
    private static let known = [
        ["mpv", "--no-video", "--really-quiet"], ["ffplay", "-nodisp", "-autoexit", "-loglevel", "error"], ["paplay"],
        ["aplay", "-q"],
    ]

    /// The program's path, and the arguments before the file.
    let words: [String]

    var name: String { words.first.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "" }

    /// - Parameter isProgram: Whether there is a program at this path.
    init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        isProgram: (String) -> Bool = Self.isProgram
    ) throws(PlayerError) {
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map(String.init)
        func path(of name: String) -> String? {
            guard !name.contains("/") else { return isProgram(name) ? name : nil }
            return folders.map { $0 + "/" + name }.first(where: isProgram)
        }
        func resolved(_ words: [String]) -> [String]? {
            words.first.flatMap(path).map { [$0] + words.dropFirst() }
        }
        let wish = environment[Self.variable]?.split(separator: " ").map(String.init) ?? []
        if wish.isEmpty {
            guard let words = Self.known.compactMap(resolved).first else {
                throw .noneInstalled(Self.known.compactMap(\.first))
            }
            self.words = words
        } else {
            guard let words = resolved(wish) else { throw .notThere(wish[0]) }
            self.words = words
        }
    }

    private static func isProgram(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            && FileManager.default.isExecutableFile(atPath: path)
    }
}

enum PlayerError: LocalizedError, Equatable {
    case noneInstalled([String])
    /// The variable's value.
    case notThere(String)
    case noFile(String)

    var errorDescription: String? {
        switch self {
        case .noneInstalled(let names):
            "there is no player: install one of \(names.joined(separator: ", ")), or name another in \(Player.variable)"
        case .notThere(let name): "\(Player.variable) names '\(name)', and there is no such program"
        case .noFile(let path): "there is no file \(path)"
        }
    }
}
