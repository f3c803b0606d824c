import Foundation
import TestSupport
import Testing

@testable import switch_to_curlnetworking

@Suite("A package that was switched", .timeLimit(.minutes(5)))
struct SwitchedPackageTests {
    private static let manifest = """
        // swift-tools-version: 5.9
        import PackageDescription

        let package = Package(
            name: "Weather",
            platforms: [.macOS(.v12)],
            targets: [
                .target(name: "Weather"),
                .testTarget(name: "WeatherTests", dependencies: ["Weather"]),
            ]
        )
        """
    private static let client = """
        import Foundation
        #if canImport(FoundationNetworking)
            import FoundationNetworking
        #endif

        public struct Weather {
            let session: URLSession

            public init(configuration: URLSessionConfiguration = .default) {
                session = URLSession(configuration: configuration, delegate: Observer(), delegateQueue: nil)
            }

            public func report(from url: URL) async throws -> Data {
                let task: URLSessionDataTask = session.dataTask(with: url)
                task.resume()
                return try await session.data(for: URLRequest(url: url)).0
            }
        }

        final class Observer: NSObject, URLSessionDataDelegate {
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}
        }
        """
    private static let mock = """
        import Foundation
        import class FoundationNetworking.HTTPURLResponse
        import class FoundationNetworking.URLCache
        import class FoundationNetworking.URLProtocol
        import protocol FoundationNetworking.URLProtocolClient
        import struct FoundationNetworking.URLRequest

        final class Mock: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
            override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
            override func startLoading() { client?.urlProtocolDidFinishLoading(self) }
            override func stopLoading() {}
        }
        """
    /// Holds only if the names are this module's.
    private static let proof = """
        import CurlNetworking

        func prove(_ weather: Weather, _ mock: Mock) -> (CurlNetworking.URLSession, CurlNetworking.URLProtocol) {
            (weather.session, mock)
        }
        """

    @Test(
        "A switched package compiles with this module, and SwiftPM understands its manifest, even when switched twice"
    )
    func compiles() async throws {
        let directory = try TemporaryDirectory()
        let files = FileManager.default
        let source = directory.url.appendingPathComponent("Sources/Weather/Weather.swift")
        let test = directory.url.appendingPathComponent("Tests/WeatherTests/Mock.swift")
        for (url, text) in [(source, Self.client), (test, Self.mock)] {
            try files.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        _ = try directory.file("Package.swift", Data(Self.manifest.utf8))
        let proof = try directory.file("proof.txt", Data(Self.proof.utf8))
        let dependency = PackageDependency(source: .path(Products.sources.path))
        for _ in 1...2 { try PackageSwitch(directory.url, dependency: dependency).write() }

        #expect(try await SnippetCompiler.errors(ofFiles: [source, test]) == [])
        let proven = directory.url.appendingPathComponent("Proof.swift")
        try files.moveItem(at: proof, to: proven)
        #expect(try await SnippetCompiler.errors(ofFiles: [source, test, proven]) == [])

        let swift = ProcessInfo.processInfo.environment["SWIFT"] ?? "swift"
        let words = [swift, "package", "--package-path", directory.url.path, "dump-package"]
        let process = try ChildProcess(words, mergesErrors: true)
        let manifest = await process.remainingLines().joined(separator: "\n")
        #expect(await process.ending() == .exit(0), "\(manifest)")
        #expect(manifest.ranges(of: "\"CurlNetworking\"").count == 2, "both targets depend on it")
        #expect(manifest.ranges(of: "\"linux\"").count == 2, "on Linux alone")
    }
}
