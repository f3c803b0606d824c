import CurlTransport
import Foundation

/// The command that tells a program that its background transfers are over.
enum LaunchCommand {
    static let variable = "CURLNETWORKING_BACKGROUND_SESSION"

    /// Starts the command; returns the outcome as text for the log. The agent ignores how the command exits.
    static func run(_ command: [String], for session: String) -> String {
        do throws(SystemError) {
            let variables = [variable: session.replacingOccurrences(of: "\0", with: "", options: .literal)]
            let pid = try InheritedAttributes.restore { () throws(SystemError) in
                try Spawn.run(command, environment: variables)
            }
            return "process \(pid)"
        } catch {
            return Spawn.reason(error)
        }
    }
}
