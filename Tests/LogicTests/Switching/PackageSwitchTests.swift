import Foundation
import TestSupport
import Testing

@testable import switch_to_curlnetworking

@Suite("Switching a package")
struct PackageSwitchTests {
    private static let dependency = PackageDependency(source: .path("../CurlNetworking"))
    private static let manifest = """
        // swift-tools-version: 5.9
        import PackageDescription

        let package = Package(name: "A", targets: [.target(name: "One"), .target(name: "Two")])
        """

    /// A package with these files.
    private func package(_ files: [String: String]) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (path, text) in files {
            let url = directory.url.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }
        return directory
    }

    private func text(_ path: String, in directory: TemporaryDirectory) throws -> String {
        try String(contentsOf: directory.url.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("A package's files and manifest are switched, only for the targets concerned, and nothing a second time")
    func whole() throws {
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": "import FoundationNetworking\n",
            "Sources/Two/b.swift": "import Foundation\n",
        ])
        let first = try PackageSwitch(directory.url, dependency: Self.dependency)
        #expect(first.changes.map(\.path) == ["Sources/One/a.swift", "Package.swift"])
        #expect(try text("Package.swift", in: directory) == Self.manifest, "nothing is written before it is to be")
        try first.write()
        #expect(try text("Sources/One/a.swift", in: directory) == "import CurlNetworking\n")
        let manifest = try text("Package.swift", in: directory)
        #expect(
            manifest.contains(
                ".target(name: \"One\", dependencies: [.product(name: \"CurlNetworking\", package: \"CurlNetworking\")])"
            )
        )
        #expect(manifest.contains(".target(name: \"Two\")"))
        #expect(manifest.contains("dependencies: [.package(path: \"../CurlNetworking\")], targets:"))
        let second = try PackageSwitch(directory.url, dependency: Self.dependency)
        #expect(second.changes.isEmpty)
        #expect(Report(second, isDryRun: false).text == "nothing to change")
    }

    @Test("Where the package is also built for Apple's platforms the dependency is Linux's alone, also when run again")
    func apple() throws {
        let directory = try package([
            "Package.swift": Self.manifest,
            "Sources/One/a.swift": "#if canImport(FoundationNetworking)\nimport FoundationNetworking\n#endif\n",
        ])
        try PackageSwitch(directory.url, dependency: Self.dependency).write()
        #expect(try text("Package.swift", in: directory).contains("condition: .when(platforms: [.linux])"))
        // A target that is switched later gets the same.
        let later = directory.url.appendingPathComponent("Sources/Two")
        try FileManager.default.createDirectory(at: later, withIntermediateDirectories: true)
        try Data("import FoundationNetworking\n".utf8).write(to: later.appendingPathComponent("b.swift"))
        try PackageSwitch(directory.url, dependency: Self.dependency).write()
        let conditions = try text("Package.swift", in: directory).ranges(of: "condition: .when(platforms: [.linux])")
        #expect(conditions.count == 2)
    }

    @Test(
        "Permissions stay, links and unreadable files are left alone and named, hidden folders too, and nothing is left behind"
    )
    func files() throws {
        let elsewhere = try package(["outside.swift": "import FoundationNetworking\n"])
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": "import FoundationNetworking\n",
            ".build/b.swift": "import FoundationNetworking\n",
        ])
        let files = FileManager.default
        let one = directory.url.appendingPathComponent("Sources/One")
        let script = one.appendingPathComponent("a.swift")
        try files.setAttributes([.posixPermissions: 0o754], ofItemAtPath: script.path)
        try files.createSymbolicLink(
            at: one.appendingPathComponent("link.swift"),
            withDestinationURL: elsewhere.url.appendingPathComponent("outside.swift")
        )
        let latin = Data("import FoundationNetworking // ".utf8) + [0xE4]
        try latin.write(to: one.appendingPathComponent("latin.swift"))
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        try package.write()
        #expect(
            package.findings.map(\.description) == [
                "Sources/One/latin.swift: can't be read as UTF-8, and is left as it is",
                "Sources/One/link.swift: is a link that leads out of the package, and is left as it is: see to what is there",
            ]
        )
        #expect(try files.attributesOfItem(atPath: script.path)[.posixPermissions] as? Int == 0o754)
        #expect(try text("outside.swift", in: elsewhere) == "import FoundationNetworking\n")
        #expect(try text(".build/b.swift", in: directory) == "import FoundationNetworking\n")
        #expect(try Data(contentsOf: one.appendingPathComponent("latin.swift")) == latin)
        #expect(try files.contentsOfDirectory(atPath: one.path).sorted() == ["a.swift", "latin.swift", "link.swift"])
    }

    @Test("A package behind a link is switched like any other, and a manifest that is a link stays one")
    func links() throws {
        let directory = try package([
            "real/Manifest": Self.manifest, "real/Sources/One/a.swift": "import FoundationNetworking\n",
        ])
        let files = FileManager.default
        let link = directory.url.appendingPathComponent("link")
        try files.createSymbolicLink(atPath: link.path, withDestinationPath: "real")
        let manifest = link.appendingPathComponent("Package.swift").path
        try files.createSymbolicLink(atPath: manifest, withDestinationPath: "Manifest")
        let package = try PackageSwitch(link, dependency: Self.dependency)
        #expect(package.changes.map(\.path) == ["Sources/One/a.swift", "Package.swift"])
        try package.write()
        #expect(try files.destinationOfSymbolicLink(atPath: manifest) == "Manifest")
        #expect(try text("real/Manifest", in: directory).contains("CurlNetworking"))
        #expect(try text("real/Sources/One/a.swift", in: directory) == "import CurlNetworking\n")
    }

    @Test("A file that can't be written is named, and stays whole")
    func unwritable() throws {
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": "import FoundationNetworking\n",
        ])
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        try FileManager.default.removeItem(at: directory.url.appendingPathComponent("Sources/One"))
        let error = #expect(throws: PackageSwitch.Incomplete.self) { try package.write() }
        #expect(error?.written == [])
        #expect(
            error?.description.hasSuffix("Sources/One/a.swift: No such file or directory\nNothing was changed.") == true
        )
        #expect(try text("Package.swift", in: directory) == Self.manifest)
    }

    @Test(
        "If a file can't be written, those that were changed before it are named, and a second run changes the others"
    )
    func incomplete() throws {
        let old = "import FoundationNetworking\n"
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": old, "Sources/One/b.swift": old,
        ])
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        let last = directory.url.appendingPathComponent("Sources/One/b.swift")
        try FileManager.default.removeItem(at: last)
        let error = #expect(throws: PackageSwitch.Incomplete.self) { try package.write() }
        #expect(error?.written == ["Sources/One/a.swift"])
        #expect(error?.description.hasSuffix("run this again for the others.\n    Sources/One/a.swift") == true)
        try old.write(to: last, atomically: false, encoding: .utf8)
        try PackageSwitch(directory.url, dependency: Self.dependency).write()
        #expect(try text("Sources/One/b.swift", in: directory) == "import CurlNetworking\n")
        #expect(try text("Package.swift", in: directory).contains("CurlNetworking"))
    }

    @Test("The report says what dependencies that were fetched do with the stock session")
    func dependencies() throws {
        let directory = try package([
            "Package.swift": Self.manifest,
            ".build/checkouts/Exporting/Source/a.swift": "@_exported import FoundationNetworking\n",
            ".build/checkouts/Helping/Sources/Helping/a.swift":
                "import FoundationNetworking\nextension URLSession { }\npublic func load(with session: URLSession) {}\n",
            ".build/checkouts/Quiet/Sources/Quiet/a.swift": "import Foundation\n",
        ])
        let findings = try PackageSwitch(directory.url, dependency: Self.dependency).findings.map(\.description)
        #expect(findings.count == 3)
        #expect(findings[0].hasPrefix("Exporting: exports FoundationNetworking again"))
        #expect(findings[1].hasPrefix("Helping: extends the stock URLSession"))
        #expect(findings[2].hasPrefix("Helping: has URLSession in its API"))
    }

    @Test("Packages below it are left to be switched by themselves, and named as long as they are to be")
    func nested() throws {
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": "import FoundationNetworking\n",
            "Examples/Demo/Package.swift": Self.manifest,
            "Examples/Demo/Sources/One/b.swift": "import FoundationNetworking\n",
            "Examples/Other/Package.swift": Self.manifest, "Examples/Other/Sources/One/c.swift": "import Foundation\n",
        ])
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        #expect(package.changes.map(\.path) == ["Sources/One/a.swift", "Package.swift"])
        #expect(
            package.findings.map(\.description) == [
                "Examples/Demo: is a package of its own, and is left as it is: switch it by itself"
            ]
        )
        let demo = directory.url.appendingPathComponent("Examples/Demo")
        try PackageSwitch(demo, dependency: Self.dependency).write()
        #expect(try PackageSwitch(directory.url, dependency: Self.dependency).findings.isEmpty)
    }

    @Test("Plugins, which can't depend on a library, are left alone")
    func plugins() throws {
        let manifest = Self.manifest.replacing("targets: [", with: "targets: [.plugin(name: \"Gen\"), ")
        let directory = try package([
            "Package.swift": manifest, "Plugins/Gen/a.swift": "import FoundationNetworking\n",
        ])
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        #expect(package.changes.isEmpty && package.findings.isEmpty)
    }

    @Test("Files without a target that is written out are left for a person")
    func orphans() throws {
        let directory = try package([
            "Package.swift": Self.manifest, "Plugins/P/a.swift": "import FoundationNetworking\n",
        ])
        let package = try PackageSwitch(directory.url, dependency: Self.dependency)
        #expect(package.findings.map(\.file) == ["Plugins/P/a.swift"])
    }

    @Test("A folder without a manifest is refused")
    func noManifest() throws {
        let directory = try package(["a.swift": "import FoundationNetworking\n"])
        #expect(throws: PackageSwitch.MissingManifest.self) {
            try PackageSwitch(directory.url, dependency: Self.dependency)
        }
    }

    @Test("A dry run shows the lines that would change")
    func dryRun() throws {
        let directory = try package([
            "Package.swift": Self.manifest, "Sources/One/a.swift": "// a\nimport FoundationNetworking\n",
        ])
        let report = Report(try PackageSwitch(directory.url, dependency: Self.dependency), isDryRun: true).text
        let expected =
            "would change Sources/One/a.swift\n    - import FoundationNetworking\n    + import CurlNetworking\n"
        #expect(report.hasPrefix(expected + "would change Package.swift\n"))
    }

    @Test(
        "A path starts from the shell's folder, not from the package's",
        arguments: [
            ("../X", "/a/X", "X"), (".", "/a/b", "b"), ("..", "/a", "a"), ("X/", "/a/b/X", "X"),
            ("/y/./X", "/y/X", "X"),
        ]
    )
    func paths(given: String, written: String, identity: String) throws {
        let dependency = try Options(["--path", given, "elsewhere/package"], home: "/", in: "/a/b").dependency
        #expect(dependency.source == .path(written))
        #expect(dependency.identity == identity)
    }

    @Test("The command line names the dependency and the folder, and a wrong one is refused")
    func options() throws {
        let plain = try Options([], home: "/home/CurlNetworking")
        #expect(plain.dependency.source == .path("/home/CurlNetworking"))
        #expect(plain.directory == "." && !plain.isDryRun)
        let full = try Options(["--dry-run", "--url", "https://a.example/b", "--from", "1.2.0", "dir"], home: "/")
        #expect(full.dependency.source == .from(url: "https://a.example/b", "1.2.0"))
        #expect(full.directory == "dir" && full.isDryRun)
        #expect(try Options(["--url", "u"], home: "/").dependency.source == .branch(url: "u", "main"))
        for wrong in [["--url"], ["--branch", "b"], ["--path", "p", "--url", "u"], ["a", "b"], ["--what"]] {
            #expect(throws: Options.UsageError.self, "\(wrong)") { try Options(wrong, home: "/") }
        }
    }
}
