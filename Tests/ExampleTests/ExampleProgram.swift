import Foundation
import TestSupport

/// The examples, which are built beside the tests.
enum ExampleProgram {
    /// Starts one, by what is behind "curlnetworking-" in its name.
    static func start(
        _ name: String,
        _ words: String...,
        environment: [String: String] = [:],
        mergesErrors: Bool = false
    ) throws -> ChildProcess {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appendingPathComponent("curlnetworking-\(name)").path
        return try ChildProcess([program] + words, environment: environment, mergesErrors: mergesErrors)
    }

    /// Where the package is.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    /// Where their sources are.
    static let sources = package.appendingPathComponent("Tests/Examples")
}
