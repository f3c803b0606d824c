import Foundation

struct Options: Equatable {
    struct UsageError: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    static let usage = """
        Usage: switch-to-curlnetworking [--dry-run] [--path PATH | --url URL [--branch NAME | --from VERSION]] [DIRECTORY]

        Turns a package's imports of FoundationNetworking into imports of CurlNetworking, adds the dependency to its Package.swift,
        and lists what needs a hand. DIRECTORY is the package's root; by default the current one.

          --dry-run       show what would change, and change nothing
          --path PATH     depend on CurlNetworking in a folder, by its absolute path; by default the one that this program was built in
          --url URL       depend on CurlNetworking in a repository
          --branch NAME   with --url: the branch; by default main
          --from VERSION  with --url: the oldest version
        """

    var directory = "."
    var isDryRun = false
    var wantsHelp = false
    var dependency: PackageDependency

    /// - Parameters:
    ///   - home: The path of the package that this program was built in.
    ///   - folder: The path of the folder that a relative path starts from.
    init(
        _ arguments: [String],
        home: String,
        in folder: String = FileManager.default.currentDirectoryPath
    ) throws(UsageError) {
        var (path, url, branch, version, directory): (String?, String?, String?, String?, String?)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--dry-run": isDryRun = true
            case "--help", "-h": wantsHelp = true
            case "--path": path = try Self.value(of: argument, &rest)
            case "--url": url = try Self.value(of: argument, &rest)
            case "--branch": branch = try Self.value(of: argument, &rest)
            case "--from": version = try Self.value(of: argument, &rest)
            default:
                guard !argument.hasPrefix("-"), directory == nil else {
                    throw UsageError(description: "I don't understand \(argument).")
                }
                directory = argument
            }
        }
        switch (path, url, branch, version) {
        case (let path, nil, nil, nil):
            let folder = URL(fileURLWithPath: folder, isDirectory: true)
            let place = path.map { URL(fileURLWithPath: $0, relativeTo: folder).standardizedFileURL.path }
            dependency = PackageDependency(source: .path(place ?? home))
        case (nil, let url?, let branch, nil):
            dependency = PackageDependency(source: .branch(url: url, branch ?? "main"))
        case (nil, let url?, nil, let version?): dependency = PackageDependency(source: .from(url: url, version))
        default: throw UsageError(description: "--path stands alone; --branch or --from goes with --url.")
        }
        self.directory = directory ?? "."
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst(), !value.isEmpty else {
            throw UsageError(description: "\(option) needs a value.")
        }
        return value
    }
}
