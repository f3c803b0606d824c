import Testing

@testable import switch_to_curlnetworking

@Suite("Adding the dependency to a manifest")
struct ManifestEditorTests {
    private static let dependency = PackageDependency(
        source: .branch(url: "https://a.example/CurlNetworking.git", "main")
    )
    private static let package = ".package(url: \"https://a.example/CurlNetworking.git\", branch: \"main\")"
    private static let product = ".product(name: \"CurlNetworking\", package: \"CurlNetworking\")"

    private func edited(_ text: String, _ names: Set<String>, onlyOnLinux: Bool = false) -> String {
        ManifestEditor(text).adding(Self.dependency, to: names, onlyOnLinux: onlyOnLinux, file: "Package.swift").text
    }

    @Test("Targets that share a folder have the files that they name, and not those that they leave out")
    func sharedFolder() {
        let editor = ManifestEditor(
            """
            let package = Package(
                name: "P",
                targets: [
                    .target(name: "A", path: "Sources", exclude: ["A/Old", "A/x.swift"], sources: ["A"]),
                    .target(name: "B", path: "./Sources/", sources: ["B", "Common.swift"]),
                    .target(name: "C", path: "Shared"),
                    .target(name: "D", path: "Shared"),
                ]
            )
            """
        )
        #expect(editor.target(of: "Sources/A/a.swift")?.name == "A")
        #expect(editor.target(of: "Sources/B/b.swift")?.name == "B")
        #expect(editor.target(of: "Sources/Common.swift")?.name == "B")
        for path in ["Sources/A/Old/a.swift", "Sources/A/x.swift", "Sources/AB/a.swift", "Shared/c.swift"] {
            #expect(editor.target(of: path) == nil, "\(path)")
        }
    }

    @Test(
        "A branch is written as the manifest's version of SwiftPM has it",
        arguments: ["5.4", "5", "4.2", "5.5", "6.0"]
    )
    func oldTools(version: String) {
        let text =
            "// swift-tools-version:\(version)\nlet package = Package(name: \"P\", targets: [.target(name: \"A\")])"
        let isOld = ["5.4", "5", "4.2"].contains(version)
        #expect(edited(text, ["A"]).contains(isOld ? ", .branch(\"main\"))" : ", branch: \"main\")"))
    }

    @Test(
        "A dependency for Linux alone is written for versions of SwiftPM that know such a thing; others are told",
        arguments: [("5.2", false), ("5", false), ("5.3", true), ("6.0", true)]
    )
    func conditions(version: String, knows: Bool) {
        let text =
            "// swift-tools-version:\(version)\nlet package = Package(name: \"P\", targets: [.target(name: \"A\")])"
        let (edited, findings) = ManifestEditor(text)
            .adding(Self.dependency, to: ["A"], onlyOnLinux: true, file: "Package.swift")
        #expect(edited.contains(".product(name: \"CurlNetworking\""))
        #expect(edited.contains("condition:") == knows)
        #expect(findings.contains { $0.text.hasPrefix("the dependency is for all platforms") } == !knows)
    }

    @Test("The dependency is added to the package's list even if only a computed target needs it")
    func computedTarget() {
        let text = "let package = Package(name: \"P\", targets: [module(\"A\")])"
        let edited = ManifestEditor(text)
            .adding(Self.dependency, to: [], needsPackage: true, onlyOnLinux: false, file: "Package.swift").text
        #expect(edited.contains("dependencies: [\(Self.package)], targets:"))
    }

    /// A target as it is declared without the dependency, and with it.
    struct Declaration: Sendable {
        let name: String
        let old: String
        let new: String
    }

    private static let declarations: [Declaration] = [
        Declaration(
            name: "One",
            old: ".target(name: \"One\"),",
            new: ".target(name: \"One\", dependencies: [\(product)]),"
        ),
        Declaration(
            name: "Two",
            old: ".target(name: \"Two\", dependencies: [\"One\"], path: \"Two\"),",
            new: ".target(name: \"Two\", dependencies: [\"One\", \(product)], path: \"Two\"),"
        ),
        Declaration(
            name: "Empty",
            old: ".target(name: \"Empty\", dependencies: []),",
            new: ".target(name: \"Empty\", dependencies: [\(product)]),"
        ),
        Declaration(
            name: "OneTests",
            old: """
                .testTarget(
                    name: "OneTests",
                    dependencies: [
                        .target(name: "One"),
                        "Two",
                    ]
                ),
                """,
            new: """
                .testTarget(
                    name: "OneTests",
                    dependencies: [
                        .target(name: "One"),
                        "Two",
                        \(product),
                    ]
                ),
                """
        ),
        Declaration(
            name: "TwoTests",
            old: """
                .testTarget(
                    name: "TwoTests",
                    exclude: ["b"]
                ),
                """,
            new: """
                .testTarget(
                    name: "TwoTests",
                    dependencies: [\(product)],
                    exclude: ["b"]
                ),
                """
        ),
    ]

    /// A manifest where the targets of these names have the dependency.
    private func manifest(with names: Set<String>) -> String {
        let targets = Self.declarations.map { names.contains($0.name) ? $0.new : $0.old }.joined(separator: "\n")
        let added = names.isEmpty ? "" : ",\n        \(Self.package),"
        return """
            let package = Package(
                name: "A",
                dependencies: [
                    .package(url: "https://a.example/b", from: "1.0.0")\(added)
                ],
                targets: [
                    \(targets.replacing("\n", with: "\n        "))
                ]
            )
            """
    }

    @Test(
        "A target's dependencies gain one entry, be they on one line, on several, or not written down",
        arguments: declarations.map(\.name)
    )
    func list(of target: String) {
        let expected = manifest(with: [target])
        #expect(edited(manifest(with: []), [target]) == expected)
        #expect(edited(expected, [target]) == expected)
    }

    @Test("The dependency is added once to all targets that need it, and to none if no target does")
    func lists() {
        let names = Set(Self.declarations.map(\.name))
        let (old, expected) = (manifest(with: []), manifest(with: names))
        #expect(edited(old, names) == expected)
        #expect(edited(expected, names) == expected)
        #expect(edited(old, []) == old)
    }

    @Test("Comments stay with their entries")
    func comments() {
        func text(_ comma: String, _ more: String) -> String {
            """
            let package = Package(
                name: "A",
                dependencies: [
                    .package(url: "https://a.example/b", from: "1.0.0")\(comma) // b
                    /* The last. */
            \(more)    ],
                targets: [.target(name: "One", dependencies: [\(Self.product)])]
            )
            """
        }
        for comma in ["", ","] {
            #expect(edited(text(comma, ""), ["One"]) == text(",", "        \(Self.package),\n"))
        }
        let text = "let package = Package(name: \"A\", dependencies: [\n  .package(path: \"b\") /* b */ ], targets: "
        let targets = "[.target(name: \"One\", dependencies: [\(Self.product)])])"
        let added = text.replacing("\"b\")", with: "\"b\"),\n  \(Self.package),")
        #expect(edited(text + targets, ["One"]) == added + targets)
    }

    @Test("A plugin has its folder, and a target that is alone beside it all others")
    func plugins() {
        let text = """
            let package = Package(
                name: "A",
                products: [.plugin(name: "Gen", targets: ["Gen"])],
                targets: [
                    .plugin(name: "Gen", capability: .buildTool()),
                    .plugin(name: "Own", capability: .buildTool(), path: "Tools/Own"),
                    .target(name: "One", plugins: [.plugin(name: "Gen")]),
                ]
            )
            """
        let editor = ManifestEditor(text)
        #expect(editor.targets.map(\.name) == ["Gen", "Own", "One"])
        #expect(editor.targets.map(\.isPlugin) == [true, true, false])
        let owners = ["Plugins/Gen/a.swift", "Tools/Own/a.swift", "Sources/a.swift", "Plugins/Other/a.swift"]
            .map { editor.target(of: $0)?.name }
        #expect(owners == ["Gen", "Own", "One", nil])
    }

    @Test("A package without dependencies gets the list where SwiftPM wants it")
    func noDependencies() {
        let text = "let package = Package(name: \"A\", targets: [.target(name: \"One\")])"
        #expect(
            edited(text, ["One"], onlyOnLinux: true)
                == "let package = Package(name: \"A\", dependencies: [\(Self.package)], targets: [.target(name: \"One\", "
                + "dependencies: [.product(name: \"CurlNetworking\", package: \"CurlNetworking\", "
                + "condition: .when(platforms: [.linux]))])])"
        )
    }

    @Test("A manifest's parts that aren't written out are left for a person")
    func computed() {
        let text = """
            let package = Package(
                name: "A",
                dependencies: common,
                targets: [.target(name: "One", dependencies: names.map { .init($0) }), .target(name: name)]
            )
            """
        let editor = ManifestEditor(text)
        #expect(editor.targets.map(\.name) == ["One"])
        let result = editor.adding(Self.dependency, to: ["One"], onlyOnLinux: false, file: "Package.swift")
        #expect(result.text == text)
        #expect(
            result.findings.map(\.description) == [
                "Package.swift:4: add \(Self.product) to “One”",
                "Package.swift: add \(Self.package) to the dependencies",
            ]
        )
    }

    @Test(
        "A target that a list of dependencies refers to isn't declared there",
        arguments: [
            "let common: [Target.Dependency] = [.target(name: \"Core\"), .target(name: \"Tool\")]",
            "let common = [Target.Dependency.target(name: \"Core\")]",
            "package.targets[0].dependencies += [.target(name: \"Core\")]",
            "package.targets[0].dependencies.append(.target(name: \"Core\"))",
        ]
    )
    func references(list: String) {
        func text(_ core: String) -> String {
            """
            \(list)
            let package = Package(
                name: "A",
                dependencies: [\(Self.package)],
                targets: [\(core), module("B", dependencies: [.target(name: "Core")])]
            )
            \(list)
            """
        }
        let old = text(".target(name: \"Core\")")
        let result = ManifestEditor(old).adding(Self.dependency, to: ["Core", "Tool"], onlyOnLinux: false, file: "P")
        #expect(result.text == text(".target(name: \"Core\", dependencies: [\(Self.product)])"))
        #expect(result.findings.isEmpty)
    }

    @Test(
        "Targets may be declared beside the package",
        arguments: [
            "let targets: [Target] = [.target(name: \"Core\"), .target(name: \"One\")]",
            "let all: [PackageDescription.Target] = [.target(name: \"One\")]",
            "let one: Target = .target(name: \"One\")", "let one = Target.target(name: \"One\")",
            "package.targets.append(.target(name: \"One\"))", "package.targets += [.target(name: \"One\")]",
            "package.targets.append(contentsOf: [.target(name: \"One\")])",
        ]
    )
    func besides(declaration: String) {
        let package = "let package = Package(name: \"A\", dependencies: [\(Self.package)], targets: targets)"
        let text = "\(package)\n\(declaration)"
        let old = ".target(name: \"One\""
        #expect(edited(text, ["One"]) == text.replacing(old, with: old + ", dependencies: [\(Self.product)]"))
    }

    @Test("A target that is declared more than once is left for a person, unless it depends on this package")
    func variants() {
        let text = """
            let package = Package(name: "A", dependencies: [\(Self.package)], targets: [
            #if os(Linux)
                .target(name: "One", dependencies: [\(Self.product)]),
            #else
                .target(name: "One", dependencies: ["B"]),
            #endif
            ])
            """
        let result = ManifestEditor(text).adding(Self.dependency, to: ["One"], onlyOnLinux: false, file: "P")
        #expect(result.text == text)
        #expect(result.findings.map(\.description) == ["P:5: add \(Self.product) to “One”"])
    }

    @Test("A package is known by its location or name, in any case, and by nothing else of a dependency")
    func known() {
        func adds(_ dependency: PackageDependency, to list: String) -> Bool {
            let text = "let package = Package(name: \"A\", dependencies: [\(list)], targets: [.target(name: \"One\")])"
            let new = ManifestEditor(text).adding(dependency, to: ["One"], onlyOnLinux: false, file: "P").text
            return new.contains("[\(list), \(dependency.package(forTools: nil))]")
        }
        let main = PackageDependency(source: .path("/home/me/main"))
        #expect(adds(main, to: ".package(url: \"https://a.example/b\", branch: \"main\")"))
        #expect(adds(main, to: ".package(id: \"b.main\", from: \"1.0.0\")"))
        #expect(!adds(main, to: ".package(path: \"../Main/\")"))
        #expect(!adds(main, to: ".package(name: \"main\", path: \"../other\")"))
        #expect(!adds(Self.dependency, to: ".package(url: \"https://b.example/curlnetworking\", from: \"1.0.0\")"))
    }

    @Test("A target that depends on another product of ours gets this one, too")
    func otherProduct() {
        let other = ".product(name: \"CurlURLProtocol\", package: \"CurlNetworking\")"
        let text = """
            let package = Package(name: "A", dependencies: [\(Self.package)], targets: [
                .target(name: "One", dependencies: [\(other)]), .target(name: "Two", dependencies: ["CurlNetworking"]),
            ])
            """
        #expect(edited(text, ["One", "Two"]) == text.replacing("[\(other)]", with: "[\(other), \(Self.product)]"))
    }

    @Test("A list to which an operator adds something is left for a person")
    func sum() {
        let text = "let package = Package(name: \"A\", targets: [.target(name: \"One\", dependencies: [\"B\"] + [c])])"
        let result = ManifestEditor(text).adding(Self.dependency, to: ["One"], onlyOnLinux: false, file: "P")
        #expect(result.findings.count == 1)
        #expect(result.text.contains("[\"B\"] + [c]"))
    }

    @Test("A file belongs to the target with the longest folder")
    func folders() {
        let text = """
            let package = Package(name: "A", targets: [
                .target(name: "One"), .testTarget(name: "OneTests"), .executableTarget(name: "Tool", path: "Sources/One/Tool"),
            ])
            """
        let editor = ManifestEditor(text)
        #expect(editor.target(of: "Sources/One/a.swift")?.name == "One")
        #expect(editor.target(of: "Sources/One/Tool/a.swift")?.name == "Tool")
        #expect(editor.target(of: "Tests/OneTests/Deep/a.swift")?.name == "OneTests")
        #expect(editor.target(of: "Sources/OneMore/a.swift") == nil)
    }

    @Test("Files are looked for wherever SwiftPM looks, and below a path in whatever form")
    func otherFolders() {
        let text = """
            let package = Package(name: "A", targets: [
                .target(name: "One"), .macro(name: "Two"), .target(name: "Three", path: "./Code/Three/"),
                .testTarget(name: "Tests")
            ])
            """
        let editor = ManifestEditor(text)
        #expect(editor.target(of: "src/One/a.swift")?.name == "One")
        #expect(editor.target(of: "Source/Two/a.swift")?.name == "Two")
        #expect(editor.target(of: "Code/Three/a.swift")?.name == "Three")
        #expect(editor.target(of: "Sources/a.swift") == nil)
        #expect(editor.target(of: "Tests/a.swift")?.name == "Tests")
    }

    @Test("The only target of its kind may have the whole folder, unless it has a path")
    func wholeFolder() {
        let one = ManifestEditor(
            "let package = Package(name: \"A\", targets: [.executableTarget(name: \"One\"), .testTarget(name: \"Two\")])"
        )
        #expect(one.target(of: "Sources/main.swift")?.name == "One")
        #expect(one.target(of: "Tests/a.swift")?.name == "Two")
        #expect(one.target(of: "Plugins/a.swift") == nil)
        let elsewhere = ManifestEditor(
            "let package = Package(name: \"A\", targets: [.target(name: \"One\", path: \"b\")])"
        )
        #expect(elsewhere.target(of: "Sources/a.swift") == nil)
    }

    @Test("Apple's platforms are recognised", arguments: [".macOS(.v12)", ".iOS(\"15.0\")"])
    func platforms(text: String) {
        #expect(ManifestEditor("let package = Package(name: \"A\", platforms: [\(text)])").namesApplePlatform)
        #expect(!ManifestEditor("let package = Package(name: \"A\")").namesApplePlatform)
    }

    @Test("Dependencies name themselves as SwiftPM does")
    func identities() {
        #expect(PackageDependency(source: .path("../deps/CurlNetworking")).identity == "CurlNetworking")
        #expect(PackageDependency(source: .from(url: "https://a.example/x/CN.git", "1.0.0")).identity == "CN")
        #expect(PackageDependency(source: .path("a\"b")).package(forTools: nil) == ".package(path: \"a\\\"b\")")
    }

    @Test(
        "A text that isn't a manifest gives nothing and traps nowhere",
        arguments: ["", "Package(", "Package(name: [", ")", "Package(name: \"A\""]
    )
    func damaged(text: String) {
        #expect(edited(text, ["One"]) == text)
    }
}
