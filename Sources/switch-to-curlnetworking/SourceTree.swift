import Foundation

/// The Swift files below a folder, sorted, without hidden folders (such as `.build`), links, and packages of their own.
struct SourceTree {
    let files: [URL]
    /// The folders below it that have a `Package.swift`, sorted; what is below them isn't looked at.
    let packages: [URL]

    init(_ root: URL) {
        let keys: [URLResourceKey] = [.isRegularFileKey, .isSymbolicLinkKey, .isDirectoryKey]
        let entries = FileManager.default.enumerator(
            at: root,
            includingPropertiesForKeys: keys,
            options: [.skipsHiddenFiles]
        )
        var files: [URL] = []
        var packages: [URL] = []
        while let url = entries?.nextObject() as? URL {
            let values = try? url.resourceValues(forKeys: Set(keys))
            if values?.isSymbolicLink ?? true {
                entries?.skipDescendants()
            } else if values?.isDirectory ?? false, Self.isPackage(url) {
                entries?.skipDescendants()
                packages.append(url)
            } else if values?.isRegularFile ?? false, url.pathExtension == "swift" {
                files.append(url)
            }
        }
        self.files = files.sorted { $0.path < $1.path }
        self.packages = packages.sorted { $0.path < $1.path }
    }

    private static func isPackage(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path)
    }
}
