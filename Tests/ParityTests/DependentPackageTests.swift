import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A package that depends on this one", .timeLimit(.minutes(10)))
struct DependentPackageTests {
    @Test("A dependent package may call its targets as it likes, and compiles only the product's own targets of ours")
    func builds() async throws {
        let directory = try TemporaryDirectory()
        for (path, text) in Self.files {
            let url = directory.url.appendingPathComponent(path)
            let folder = url.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "swift"
        let words = [swift, "build", "--package-path", directory.url.path, "--disable-index-store"]
        let build = try ChildProcess(words, mergesErrors: true)
        let output = await build.remainingLines().joined(separator: "\n")
        try #require(await build.ending() == .exit(0), "\(output)")

        let server = try LoopbackServer { _ in .text("sunny") }
        defer { server.stop() }
        let products = directory.url.appendingPathComponent(".build/debug")
        let program = products.appendingPathComponent("weather").path
        let run = try ChildProcess([program, server.url("/").absoluteString])
        #expect(await run.remainingLines() == ["Locks, Curl, Feed: sunny, 200 by libcurl 7 or later on Linux"])
        #expect(await run.ending() == .exit(0))

        let compiled = try Self.targets(compiledIn: products)
        #expect(compiled.isSuperset(of: Self.targets), "they are not looked for where SwiftPM has them")
        #expect(compiled.subtracting(Self.targets) == ["CurlNetworking", "CurlNetworkingLocks", "CurlTransport"])
        let plugins = directory.url.appendingPathComponent(".build/plugins").path
        #expect(!FileManager.default.fileExists(atPath: plugins))
    }

    /// The targets that have a compiler's output.
    private static func targets(compiledIn products: URL) throws -> Set<String> {
        let files = try FileManager.default.subpathsOfDirectory(atPath: products.resolvingSymlinksInPath().path)
        let outputs = files.filter { $0.hasSuffix(".o") || $0.hasSuffix(".swiftmodule") }
            .map { $0.split(separator: "/") }
        // `Curl.build/Curl.swift.o` and `Modules/Curl.swiftmodule`.
        let names = outputs.compactMap { $0[0] == "Modules" ? $0[1] : $0[0] }
        return Set(names.map { String($0.prefix { $0 != "." }) })
    }

    // MARK: - The package

    /// Those of its targets, and of the package below it, that are compiled.
    private static let targets: Set<String> = ["weather", "Curl", "Locks", "LoopbackServer", "TestSupport"]

    private static let files = [
        "Package.swift": """
        // swift-tools-version: 6.0
        import PackageDescription

        let package = Package(
            name: "weather",
            dependencies: [.package(path: "\(Products.sources.path)"), .package(path: "Feed")],
            targets: [
                .executableTarget(
                    name: "weather",
                    dependencies: [
                        "Curl", "Locks", .product(name: "CurlNetworking", package: "\(Products.sources.lastPathComponent)"),
                        .product(name: "Feed", package: "Feed"),
                    ]
                ),
                .target(name: "Curl", dependencies: ["CLibcurl", "CLinux"]),
                .target(name: "Locks"),
                .systemLibrary(name: "CLibcurl", path: "Modules/CLibcurl", pkgConfig: "libcurl"),
                .systemLibrary(name: "CLinux", path: "Modules/CLinux"),
            ]
        )
        """,
        "Sources/weather/main.swift": """
        import Curl
        import CurlNetworking
        import Foundation
        import Locks
        import LoopbackServer

        let report = try await LoopbackServer.report(from: URL(string: CommandLine.arguments[1])!)
        let session = URLSession(configuration: .ephemeral)
        let (_, response) = try await session.data(from: URL(string: CommandLine.arguments[1])!)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        print("\\(Locks.name), \\(Curl.name), \\(report), \\(status) by \\(Curl.library)")
        """,
        "Sources/Curl/Curl.swift": """
        import CLibcurl
        import CLinux

        public enum Curl {
            public static let name = "Curl"
            public static var library: String {
                (LIBCURL_VERSION_MAJOR >= 7 ? "libcurl 7 or later" : "an older libcurl") + (getpid() > 0 ? " on Linux" : "")
            }
        }
        """,
        "Sources/Locks/Locks.swift": """
        public enum Locks {
            public static let name = "Locks"
        }
        """,
        "Modules/CLibcurl/module.modulemap": """
        module CLibcurl [system] {
            header "shim.h"
            link "curl"
        }
        """,
        "Modules/CLibcurl/shim.h": "#include <curl/curl.h>\n",
        "Modules/CLinux/module.modulemap": """
        module CLinux [system] {
            header "shim.h"
        }
        """,
        "Modules/CLinux/shim.h": "#include <unistd.h>\n",
        "Feed/Package.swift": """
        // swift-tools-version: 6.0
        import PackageDescription

        let package = Package(
            name: "Feed",
            products: [.library(name: "Feed", targets: ["LoopbackServer"])],
            dependencies: [.package(path: "\(Products.sources.path)")],
            targets: [
                .target(
                    name: "LoopbackServer",
                    dependencies: [
                        "TestSupport",
                        .product(name: "CurlNetworking", package: "\(Products.sources.lastPathComponent)"),
                    ]
                ),
                .target(name: "TestSupport"),
            ]
        )
        """,
        "Feed/Sources/LoopbackServer/LoopbackServer.swift": """
        import CurlNetworking
        import Foundation
        import TestSupport

        public enum LoopbackServer {
            public static func report(from url: URL) async throws -> String {
                let (data, _) = try await URLSession.shared.data(from: url)
                return TestSupport.name + ": " + String(decoding: data, as: UTF8.self)
            }
        }
        """,
        "Feed/Sources/TestSupport/TestSupport.swift": """
        public enum TestSupport {
            public static let name = "Feed"
        }
        """,
    ]
}
