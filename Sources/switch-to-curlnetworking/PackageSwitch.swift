import Foundation

/// The changes that switch a package, and the findings left to the user. Nothing is written before `write()`.
struct PackageSwitch {
    struct Change {
        /// Relative to the package's root.
        let path: String
        let old: String
        let new: String
    }

    private let root: URL
    private(set) var changes: [Change] = []
    private(set) var findings: [Finding] = []
    /// The paths of the files that import this module from now on, relative to the package's root.
    private var users: [String] = []
    /// Whether an import is only for where this module is available.
    private var isConditional = false

    /// Not all changes could be written.
    struct Incomplete: Error, CustomStringConvertible {
        let cause: AtomicFile.WriteError
        /// The paths of the files already written, relative to the package's root.
        let written: [String]

        var description: String {
            guard !written.isEmpty else { return "\(cause)\nNothing was changed." }
            return (["\(cause)", "Changed before that, and to be kept: run this again for the others."] + written)
                .joined(separator: "\n    ")
        }
    }

    struct MissingManifest: Error, CustomStringConvertible {
        let description: String
    }

    init(_ root: URL, dependency: PackageDependency) throws(MissingManifest) {
        // Files below a link aren't found.
        let root = root.resolvingSymlinksInPath()
        self.root = root
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        let manifests = names.filter(Self.isManifest).sorted()
        guard !manifests.isEmpty else {
            throw MissingManifest(description: "There is no Package.swift in \(root.path), so nothing is changed.")
        }
        let editors = manifests.compactMap { Self.text(of: root.appendingPathComponent($0)).map(ManifestEditor.init) }
        let tree = SourceTree(root)
        for file in tree.files where !Self.isManifest(file.lastPathComponent) {
            let path = Self.path(of: file, in: root)
            // A plugin can't depend on a library.
            if editors.contains(where: { $0.target(of: path)?.isPlugin ?? false }) { continue }
            rewrite(file, at: path)
        }
        note(tree.links, "is a link that leads out of the package, and is left as it is: see to what is there")
        note(tree.unreadable, "can't be read, and is left as it is")
        edit(manifests, dependency)
        let packages = tree.packages.filter { Self.isToBeSwitched($0, dependency) }
        note(packages, "is a package of its own, and is left as it is: switch it by itself")
        findings += DependencyInspector(root.appendingPathComponent(".build/checkouts")).findings
    }

    private mutating func note(_ places: [URL], _ text: String) {
        findings += places.map { Finding(file: Self.path(of: $0, in: root), line: nil, text: text) }
    }

    private static func isToBeSwitched(_ nested: URL, _ dependency: PackageDependency) -> Bool {
        guard let package = try? PackageSwitch(nested, dependency: dependency) else { return false }
        return !package.changes.isEmpty
    }

    /// - Parameter path: Relative to the package's root.
    private mutating func rewrite(_ file: URL, at path: String) {
        guard let text = Self.text(of: file) else {
            findings.append(Finding(file: path, line: nil, text: "can't be read as UTF-8, and is left as it is"))
            return
        }
        let rewritten = SourceRewriter(text, file: path)
        findings += rewritten.findings
        isConditional = isConditional || rewritten.isConditional || rewritten.hasFallback
        if rewritten.importsOurs { users.append(path) }
        if rewritten.text != text { changes.append(Change(path: path, old: text, new: rewritten.text)) }
    }

    private mutating func edit(_ manifests: [String], _ dependency: PackageDependency) {
        for name in manifests {
            guard let text = Self.text(of: root.appendingPathComponent(name)) else { continue }
            let editor = ManifestEditor(text)
            let orphans = users.filter { editor.target(of: $0) == nil }
            for path in orphans {
                let note = "its target isn't written out in \(name): see that it depends on CurlNetworking"
                findings.append(Finding(file: path, line: nil, text: note))
            }
            let edited = editor.adding(
                dependency,
                to: Set(users.compactMap { editor.target(of: $0)?.name }),
                needsPackage: !users.isEmpty,
                onlyOnLinux: isConditional || editor.namesApplePlatform,
                file: name
            )
            findings += edited.findings
            if edited.text != text { changes.append(Change(path: name, old: text, new: edited.text)) }
        }
    }

    /// Writes all changes, each file atomically.
    func write() throws(Incomplete) {
        for (index, change) in changes.enumerated() {
            do throws(AtomicFile.WriteError) {
                try AtomicFile(root.appendingPathComponent(change.path)).write(change.new)
            } catch {
                throw Incomplete(cause: error, written: changes[..<index].map(\.path))
            }
        }
    }

    private static func isManifest(_ name: String) -> Bool {
        name == "Package.swift" || (name.hasPrefix("Package@swift-") && name.hasSuffix(".swift"))
    }

    private static func text(of file: URL) -> String? {
        guard let data = try? Data(contentsOf: file) else { return nil }
        // nil rather than replacement characters.
        return String(validating: data, as: UTF8.self)
    }

    private static func path(of file: URL, in root: URL) -> String {
        String(file.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1))
    }
}
