import Foundation

/// The Swift files below a folder, sorted, without hidden folders (such as `.build`) and links.
struct SourceTree {
    let files: [URL]

    init(_ root: URL) {
        let keys: [URLResourceKey] = [.isRegularFileKey, .isSymbolicLinkKey, .isDirectoryKey]
        let entries = FileManager.default.enumerator(
            at: root,
            includingPropertiesForKeys: keys,
            options: [.skipsHiddenFiles]
        )
        var files: [URL] = []
        while let url = entries?.nextObject() as? URL {
            let values = try? url.resourceValues(forKeys: Set(keys))
            if values?.isSymbolicLink ?? true {
                entries?.skipDescendants()
            } else if values?.isRegularFile ?? false, url.pathExtension == "swift" {
                files.append(url)
            }
        }
        self.files = files.sorted { $0.path < $1.path }
    }
}
