/// A dependency on this package in another one's manifest.
struct PackageDependency: Equatable {
    enum Source: Equatable {
        /// An absolute path: SwiftPM takes others to be relative to the manifest.
        case path(String)
        case branch(url: String, String)
        case from(url: String, String)
    }

    let source: Source

    /// SwiftPM's name for the package: the last component of its location.
    var identity: String {
        switch source {
        case .path(let path): Self.identity(of: path)
        case .branch(let url, _), .from(let url, _): Self.identity(of: url)
        }
    }

    static func identity(of place: String) -> String {
        let last = place.split(separator: "/").last.map(String.init) ?? place
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    struct ToolsVersion {
        var major: Int
        var minor: Int

        static func < (one: ToolsVersion, other: (Int, Int)) -> Bool { (one.major, one.minor) < other }
    }

    /// The dependency of a package. nil stands for a recent version.
    func package(forTools version: ToolsVersion?) -> String {
        let isOld = version.map { $0 < (5, 5) } ?? false
        return switch source {
        case .path(let path): ".package(path: \(quoted(path)))"
        case .branch(let url, let branch) where isOld: ".package(url: \(quoted(url)), .branch(\(quoted(branch))))"
        case .branch(let url, let branch): ".package(url: \(quoted(url)), branch: \(quoted(branch)))"
        case .from(let url, let version): ".package(url: \(quoted(url)), from: \(quoted(version)))"
        }
    }

    /// The dependency of a target.
    func product(onlyOnLinux: Bool) -> String {
        let condition = onlyOnLinux ? ", condition: .when(platforms: [.linux])" : ""
        return ".product(name: \"\(SourceRewriter.ours)\", package: \(quoted(identity))\(condition))"
    }

    private func quoted(_ text: String) -> String {
        "\""
            + text.replacingOccurrences(of: "\\", with: "\\\\", options: .literal)
            .replacingOccurrences(of: "\"", with: "\\\"", options: .literal) + "\""
    }
}
