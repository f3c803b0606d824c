import CurlNetworking
import CurlTransport
import Foundation

/// `kept-memory URL`: loads the URL, and says how many bytes are kept for libcurl then, or "none".
enum KeptMemoryCommand {
    static func run(_ arguments: [String]) async {
        guard let url = arguments.first.flatMap(URL.init(string:)) else { return Parent.say("kept-memory URL") }
        let session = URLSession(configuration: .ephemeral)
        _ = try? await session.data(from: url)
        // The handle is freed by then.
        _ = await session.connections
        let total = CurlMemory.kept.total
        Parent.say(total > 0 ? "\(total)" : "none")
    }
}
