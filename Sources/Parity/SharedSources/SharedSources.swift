import Foundation
import PackagePlugin

/// Has a target compile the folder `Shared` beside its own as well: SwiftPM lets no two targets share a folder.
@main
struct SharedSources: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = target.directoryURL.deletingLastPathComponent().appending(path: "Shared")
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path())
            .filter { $0.hasSuffix(".swift") }
            .map { path in
                let source = folder.appending(path: path)
                let copy = context.pluginWorkDirectoryURL.appending(path: source.lastPathComponent)
                return .buildCommand(
                    displayName: "Sharing \(path) with \(target.name)",
                    executable: URL(filePath: "/bin/cp"),
                    arguments: [source.path(), copy.path()],
                    inputFiles: [source],
                    outputFiles: [copy]
                )
            }
    }
}
