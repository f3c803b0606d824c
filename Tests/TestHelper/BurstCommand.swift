import CurlNetworking
import Foundation

/// `burst URL COUNT [HTTP-VERSION]`: that many at once in a new session, each with its outcome in a line, and at last what the session
/// tells of its connections.
enum BurstCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count >= 2, let url = URL(string: arguments[0]), let count = Int(arguments[1]) else {
            return Parent.say("burst URL COUNT [HTTP-VERSION]")
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        if arguments.last == "http1" { configuration.curl.hosts["127.0.0.1"].httpVersion = .http1 }
        let session = URLSession(configuration: configuration)
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { await LoadCommands.outcome { try await session.data(from: url) } } }
            for await line in group { Parent.say(line) }
        }
        for origin in await session.connections {
            Parent.say("open \(origin.open) reused \(origin.reuseCount) \(origin.protocolName ?? "no protocol")")
        }
    }
}
