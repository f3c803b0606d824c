import CurlNetworking
import Foundation

/// A program that the tests start, watch and kill: what a user's program would be.
@main
struct TestHelper {
    static func main() async throws {
        Parent.endWithIt()
        var words = CommandLine.arguments.dropFirst()
        let command = words.popFirst() ?? ""
        let arguments = Array(words)
        switch command {
        case "download": try await DownloadCommand(arguments).run()
        case "get": await LoadCommands.get(arguments)
        case "get-when-told": await LoadCommands.getWhenTold(arguments)
        case "unverified": await LoadCommands.getUnverified(arguments)
        case "many": await LoadCommands.many(arguments)
        case "burst": await BurstCommand.run(arguments)
        case "fill": await CacheCommands.fill(arguments)
        case "cached": await CacheCommands.cached(arguments)
        case "load": try await LoadCommands.load(arguments)
        case "metrics": await MetricsCommand.run(arguments)
        case "authenticate": await AuthenticateCommand.run(arguments)
        case "negotiate": await NegotiateCommand.run(arguments)
        case "negotiate-beside": await NegotiateCommand.runBeside(arguments)
        case "trace": await TraceCommand.run(arguments)
        case "idle": await IdleCommand.run(arguments)
        case "held": await HeldCommand.run(arguments)
        case "held-files": try await HeldFilesCommand.run(arguments)
        case "held-sources": try await HeldSourcesCommand.run(arguments)
        case "faults": try await FaultCommand.run(arguments)
        case "cycles": await CyclesCommand.run(arguments)
        case "exhaust": await ExhaustCommand.run(arguments)
        case "exit": await ExitCommand.run(arguments)
        case "kept-memory": await KeptMemoryCommand.run(arguments)
        case "libcurl": try LibcurlCommand.run()
        default: Parent.say("unknown command \(command)")
        }
    }
}

/// What is wrong with the command line.
struct Usage: Error {
    let text: String
}
