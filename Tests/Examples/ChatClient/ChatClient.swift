import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// Sends what is typed to a chat over a web socket, and prints what the others say.
@main
struct ChatClient {
    static let usage = "usage: curlnetworking-chat-client URL NAME"

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 2, let url = URL(string: words[0]), url.host != nil else { fail(usage, code: 64) }
        do {
            try await untilInterrupted { try await chat(at: url, as: words[1]) }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail("\(error.localizedDescription)")
        }
    }

    /// Returns when the input has ended, or the server has closed the chat.
    static func chat(at url: URL, as name: String) async throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let socket = session.webSocketTask(with: url, protocols: ["chat"])
        // Nobody says that much at once: what is longer ends the chat, and not this program's memory.
        socket.maximumMessageSize = 64 * 1024
        socket.resume()
        // A message that the server doesn't take would wait for ever, cancelled or not.
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for try await case .string(let line) in socket.messages { say(printable(line)) }
                    return true
                }
                group.addTask {
                    // Waiting for each line to be sent, this reads no faster than the network takes them.
                    for await line in Keyboard.lines() { try await socket.send(.string("\(name): \(line)")) }
                    socket.cancel(with: .normalClosure, reason: nil)
                    return false
                }
                // The messages end when the server has answered the close, or closes by itself.
                while let isOver = try await group.next(), !isOver {}
                group.cancelAll()
            }
        } onCancel: {
            socket.cancel()
        }
    }

    /// A line that can't move the cursor or change the terminal: others have written it.
    static func printable(_ line: String) -> String {
        String(
            String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 })
        )
    }
}
