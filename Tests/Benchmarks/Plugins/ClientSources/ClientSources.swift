import Foundation
import PackagePlugin

/// Has a target compile `Sources/Client` as well: SwiftPM lets no two targets share a folder.
@main
struct ClientSources: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "Sources/Client")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
            .map { source in
                let copy = context.pluginWorkDirectoryURL.appending(path: source.lastPathComponent)
                return .buildCommand(
                    displayName: "Sharing \(source.lastPathComponent) with \(target.name)",
                    executable: URL(filePath: "/bin/cp"),
                    arguments: [source.path(), copy.path()],
                    inputFiles: [source],
                    outputFiles: [copy]
                )
            }
    }
}
