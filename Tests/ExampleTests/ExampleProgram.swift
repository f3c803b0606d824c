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
        let program = try Products.program("curlnetworking-\(name)")
        return try ChildProcess([program] + words, environment: environment, mergesErrors: mergesErrors)
    }

    /// Where their sources are.
    static let sources = Products.sources.appendingPathComponent("Tests/Examples")
}
