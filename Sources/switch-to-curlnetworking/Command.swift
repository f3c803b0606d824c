import Foundation

/// The program. Exit codes: 0 for success, 1 if a file or the output can't be written, 2 for wrong arguments.
enum Command {
    static func run(_ arguments: [String]) -> Int32 {
        let options: Options
        do {
            options = try Options(arguments, home: home)
        } catch {
            return complain("\(error)\n\n\(Options.usage)", 2)
        }
        if options.wantsHelp { return say(Options.usage) }
        let root = URL(fileURLWithPath: options.directory).standardizedFileURL
        var isDirectory = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: root.path, isDirectory: &isDirectory), isDirectory.boolValue else {
            return complain("There is no folder \(root.path).", 2)
        }
        do {
            let package = try PackageSwitch(root, dependency: options.dependency)
            if !options.isDryRun { try package.write() }
            return say(Report(package, isDryRun: options.isDryRun).text)
        } catch let error as PackageSwitch.MissingManifest {
            return complain("\(error)", 2)
        } catch {
            return complain("\(error)", 1)
        }
    }

    /// Writes `text` to standard output, and returns the exit code.
    private static func say(_ text: String) -> Int32 {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
            return 0
        } catch {
            return complain("The output can't be written: \(error.localizedDescription)", 1)
        }
    }

    /// Writes `text` to standard error, ignoring errors, and returns the exit code.
    private static func complain(_ text: String, _ code: Int32) -> Int32 {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
        return code
    }

    /// The path of the package that this file belongs to.
    private static var home: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
    }
}
