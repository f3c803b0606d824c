import Foundation

/// Where the build under test is, and its sources.
package enum Products {
    package static let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    /// The repository.
    package static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The path of a program that is built beside the tests.
    package static func program(_ name: String) throws -> String {
        let path = directory.appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw ChildProcess.Failure(description: "There is no \(name) beside the tests, at \(path)")
        }
        return path
    }
}

/// The program that the tests start, watch and kill: what a user's program would be.
package enum TestHelper {
    package static func path() throws -> String { try Products.program("test-helper") }

    /// Starts the helper; its first word says what to do.
    package static func start(_ words: String...) throws -> ChildProcess {
        try ChildProcess([path()] + words)
    }
}
