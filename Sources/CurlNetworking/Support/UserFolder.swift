import Foundation

/// The user's folders for a program's files (XDG Base Directory Specification).
enum UserFolder {
    case cache
    case state

    /// Foundation looks for some of them in /home if `HOME` isn't set, and where the environment says even if the user has fewer rights than
    /// the program.
    ///
    /// - Parameter variable: Returns the value of a variable; nil if it isn't set, or can't be trusted.
    func url(_ variable: (String) -> String? = { SecureEnvironment[$0] }) -> URL {
        func folder(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let (name, usual) =
            switch self {
            case .cache: ("XDG_CACHE_HOME", ".cache")
            case .state: ("XDG_STATE_HOME", ".local/state")
            }
        let path = folder(name) ?? (folder("HOME") ?? Self.home) + "/" + usual
        return URL(fileURLWithPath: path, isDirectory: true)
    }

    /// The home, according to the password database, of the user whose rights the program has. For one without, as in Foundation, a folder
    /// that this user can't write to.
    private static var home: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { buffer in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let start = buffer.baseAddress,
                getpwuid_r(geteuid(), &entry, start, buffer.count, &found) == 0, let found,
                let path = found.pointee.pw_dir.map({ String(cString: $0) }), path.hasPrefix("/")
            else { return "/var/empty" }
            return path
        }
    }

    /// The running program's name, for its folders in these.
    static var programName: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

    /// For files that are needed for a moment: `TMPDIR` if that names one, otherwise /tmp.
    ///
    /// - Parameter variable: As above.
    static func temporary(_ variable: (String) -> String? = { SecureEnvironment[$0] }) -> URL {
        let path = variable("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        return URL(fileURLWithPath: path, isDirectory: true)
    }
}
