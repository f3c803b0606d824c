import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// What the options of connections do, measured: `swift run connection-tuning hosts`, `… limits`, `… compare URL` and `… loops URL…`.
@main
struct ConnectionTuning {
    static func main() async {
        do {
            try await run(CommandLine.arguments.dropFirst())
        } catch {
            fail(error.localizedDescription, code: 1)
        }
    }

    private static func run(_ words: ArraySlice<String>) async throws {
        switch (words.first, words.dropFirst().first.flatMap(URL.init)) {
        case ("hosts", nil): try await Hosts().run()
        case ("limits", nil): try await Limits().run()
        case ("compare", let url?): try await Comparison(url: url).run()
        case ("loops", _?): try await Loops(urls: words.dropFirst().compactMap(URL.init)).run()
        default: fail("usage: connection-tuning hosts | limits | compare URL | loops URL…", code: 64)
        }
    }

    private static func fail(_ text: String, code: Int32) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
        exit(code)
    }

    /// A configuration whose requests all go to the network.
    static func configuration() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        return configuration
    }

    /// A server that takes its time over each answer.
    static func slowServer(_ delay: Duration) throws -> LoopbackServer {
        try LoopbackServer { _ in .text("hello").after([.pause(delay)]) }
    }
}

extension URLSession {
    /// Loads `url` so many times, as many at once as the session allows, and returns how long it took.
    func load(_ url: URL, times count: Int) async throws -> Duration {
        try await ContinuousClock().measure {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count { group.addTask { _ = try await self.data(from: url) } }
                try await group.waitForAll()
            }
        }
    }
}

extension Duration {
    /// Like "1234 ms".
    var inMilliseconds: String { String(format: "%.1f ms", self / .milliseconds(1)) }
}
