import Foundation
import TestSupport

/// A program in C that does nothing but call libcurl, compiled for this run.
struct CProgram {
    private let directory: TemporaryDirectory
    private let name: String

    /// - Parameter name: Of its source file in this folder, without the extension.
    init(_ name: String) async throws {
        (directory, self.name) = (try TemporaryDirectory(), name)
        let source = Products.sources.appendingPathComponent("Tests/Load/\(name).c").path
        let options = ["-O2", "-Wall", "-Werror", "-pthread", "-o", path, source, "-lcurl"]
        let compiler = try ChildProcess(["clang"] + options, mergesErrors: true)
        let complaints = await compiler.remainingLines()
        guard await compiler.ending() == .exit(0) else {
            throw LoadServer.Failure(description: complaints.joined(separator: "\n"))
        }
    }

    private var path: String { directory.url.appendingPathComponent(name).path }

    /// The number that it prints.
    func run(_ arguments: [String]) async throws -> Double {
        let process = try ChildProcess([path] + arguments, mergesErrors: true)
        let lines = await process.remainingLines()
        guard await process.ending() == .exit(0), let number = lines.first.flatMap(Double.init) else {
            throw LoadServer.Failure(description: lines.joined(separator: "\n"))
        }
        return number
    }
}
