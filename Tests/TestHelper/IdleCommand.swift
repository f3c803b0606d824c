import CurlNetworking
import Foundation

/// `idle URL COUNT`: sessions that are used once and kept. Says "ready" when the process has all that lives as long as itself, and
/// with each line that it gets has every session make one request, and says how many got an answer.
enum IdleCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let count = Int(arguments[1]) else {
            return Parent.say("idle URL COUNT")
        }
        let first = URLSession(configuration: .ephemeral)
        _ = try? await first.data(from: url)
        first.invalidateAndCancel()
        Parent.say("ready")
        let sessions = (0..<count).map { _ in URLSession(configuration: .ephemeral) }
        for await _ in Parent.lines {
            var answers = 0
            for session in sessions where (try? await session.data(from: url)) != nil { answers += 1 }
            Parent.say("\(answers)")
        }
    }
}
