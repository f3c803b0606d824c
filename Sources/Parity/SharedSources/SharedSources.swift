import Foundation
import PackagePlugin

/// Has a target compile the folder `Shared` beside its own as well: SwiftPM lets no two targets share a folder.
@main
struct SharedSources: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        // The target's own directory is only told from PackageDescription 6.1 on.
        guard let module = target as? any SourceModuleTarget, let own = Array(module.sourceFiles).first else {
            return []
        }
        let folder = own.url.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Shared")
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
