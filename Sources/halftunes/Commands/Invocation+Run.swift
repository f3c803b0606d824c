import Foundation

enum ExitCode {
    static let success: Int32 = 0
    static let failure: Int32 = 1
    static let usage: Int32 = 2

    /// The shells' convention.
    static func signal(_ number: Int32) -> Int32 { 128 + number }
}

extension Invocation {
    /// Runs the program with these arguments, and returns its exit code.
    static func run(_ arguments: [String]) async -> Int32 {
        do {
            return try await Invocation(parsing: arguments).run()
        } catch let error as UsageError {
            Console.printError(error.message)
            Console.printError("Try 'halftunes --help'.")
            return ExitCode.usage
        } catch {
            Console.printError(error.localizedDescription)
            return ExitCode.failure
        }
    }

    private func run() async throws -> Int32 {
        if wantsHelp {
            Console.write(verb.help)
            return ExitCode.success
        }
        switch verb {
        case .interactive:
            guard Console.isInteractive else {
                Console.write(verb.help, to: 2)
                Console.printError("Without a command, it needs a terminal.")
                return ExitCode.usage
            }
            var command = try await InteractiveCommand(self)
            return try await command.run()
        case .demo: return try await DemoCommand(self).run()
        case .search: return try await SearchCommand(self).run()
        case .get: return try await GetCommand(self).run()
        case .play: return try await PlayCommand(self).run()
        case .upload: return try await UploadCommand(self).run()
        case .serve: return try await ServeCommand(self).run()
        case .stop: return try await StopCommand(self).run()
        case .resume: return try await ResumeCommand(self).run()
        }
    }
}
