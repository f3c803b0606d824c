import Foundation

/// The Swift files below a folder, sorted, without hidden folders (such as `.build`), links, and nested packages.
struct SourceTree {
    let files: [URL]
    /// The folders below it that have a `Package.swift`, sorted; nothing below them is looked at.
    let packages: [URL]
    /// Links to Swift files and folders outside it, sorted.
    let links: [URL]
    /// Folders that can't be read, sorted.
    let unreadable: [URL]

    init(_ root: URL) {
        var unreadable: [URL] = []
        let keys: [URLResourceKey] = [.isRegularFileKey, .isSymbolicLinkKey, .isDirectoryKey]
        let entries = FileManager.default.enumerator(
            at: root,
            includingPropertiesForKeys: keys,
            options: [.skipsHiddenFiles],
            errorHandler: { folder, _ in
                unreadable.append(folder)
                return true
            }
        )
        var files: [URL] = []
        var packages: [URL] = []
        var links: [URL] = []
        while let url = entries?.nextObject() as? URL {
            let values = try? url.resourceValues(forKeys: Set(keys))
            if values?.isSymbolicLink ?? true {
                entries?.skipDescendants()
                if Self.leadsToSources(url, outside: root) { links.append(url) }
            } else if values?.isDirectory ?? false, Self.isPackage(url) {
                entries?.skipDescendants()
                packages.append(url)
            } else if values?.isRegularFile ?? false, url.pathExtension == "swift" {
                files.append(url)
            }
        }
        self.files = files.sorted { $0.path < $1.path }
        self.packages = packages.sorted { $0.path < $1.path }
        self.links = links.sorted { $0.path < $1.path }
        self.unreadable = unreadable.sorted { $0.path < $1.path }
    }

    /// Whether a link leads to a Swift file or a folder that isn't found below `root` anyway.
    private static func leadsToSources(_ link: URL, outside root: URL) -> Bool {
        let target = link.resolvingSymlinksInPath().path
        var isDirectory = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: target, isDirectory: &isDirectory) else { return false }
        guard isDirectory.boolValue || target.hasSuffix(".swift") else { return false }
        return !(target + "/").hasPrefix(root.resolvingSymlinksInPath().path + "/")
    }

    private static func isPackage(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path)
    }
}
