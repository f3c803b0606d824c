import Foundation

/// The program. Exit codes: 0 for success, 1 if a file can't be written, 2 for wrong arguments.
enum Command {
    static func run(_ arguments: [String]) -> Int32 {
        let options: Options
        do {
            options = try Options(arguments, home: home)
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("\(error)\n\n\(Options.usage)\n".utf8))
            return 2
        }
        if options.wantsHelp {
            print(Options.usage)
            return 0
        }
        let root = URL(fileURLWithPath: options.directory).standardizedFileURL
        var isDirectory = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: root.path, isDirectory: &isDirectory), isDirectory.boolValue else {
            try? FileHandle.standardError.write(contentsOf: Data("There is no folder \(root.path).\n".utf8))
            return 2
        }
        let package = PackageSwitch(root, dependency: options.dependency)
        do {
            if !options.isDryRun { try package.write() }
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
            return 1
        }
        print(Report(package, isDryRun: options.isDryRun).text)
        return 0
    }

    /// The path of the package that this file belongs to.
    private static var home: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
    }
}
