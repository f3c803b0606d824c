import CurlNetworkingLoopbackServer
import Foundation
import Synchronization
import TestSupport

/// The server, which runs in another process: descriptors and CPU time are to be the client's alone.
///
///     /hello       a short text
///     /cookie/N    sets one of 50 cookies; its response may be kept
///     /gzip        `CompressedText`, which is compressed once, so that it takes CPU time to decode and hardly any to send
///     /together/N  answered when there are so many such requests, each on a connection of its own
///     /never       isn't answered
///     /open        how many connections are open
struct LoadServer: Sendable {
    private let process: ChildProcess
    private let ports: [Int]

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init() async throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process = try ChildProcess([program, "serve"])
        ports = (await process.line() ?? "").split(separator: " ").compactMap { Int($0) }
        guard ports.count == 2 else { throw Failure(description: "The server doesn't start.") }
    }

    /// There are two origins on each of 250 addresses.
    func url(_ path: String, address: Int = 1, port index: Int = 0) -> URL {
        URL(string: "http://127.0.0.\(address):\(ports[index])\(path)") ?? URL(fileURLWithPath: "/")
    }

    // MARK: - In its process

    /// Returns at the end of the standard input.
    static func serve() async throws {
        let party = Party()
        var options = LoopbackServer.Options()
        options.keepsRequests = false
        let gzip = try await CompressedText.gzip()
        let watched = Watched<[LoopbackServer]>([])
        let servers = try (0..<2).map { _ in
            try LoopbackServer(host: "0.0.0.0", options: options) { request in
                let words = request.path.split(separator: "/")
                switch words.first {
                case "hello": return .text("hello")
                case "cookie":
                    return .text(String(repeating: "x", count: 2000)).header("Cache-Control", "max-age=600")
                        .header("Set-Cookie", "c\((words.last.flatMap { Int($0) } ?? 0) % 50)=1; Max-Age=600")
                case "gzip": return .data(gzip).header("Content-Encoding", "gzip")
                case "together":
                    return .text("hello").after([.waitFor(party.join(words.last.flatMap { Int($0) } ?? 1))])
                case "open": return .text("\(watched.value.map(\.openConnections).reduce(0, +))")
                default: return .never
                }
            }
        }
        watched.update { $0 = servers }
        print(servers.map { "\($0.port)" }.joined(separator: " "))
        fflush(nil)
        while readLine() != nil {}
        for server in servers { server.stop() }
    }
}

/// Requests that wait for each other.
private final class Party: Sendable {
    private struct State {
        var gate = Gate()
        var present = 0
    }

    private let state = Mutex(State())

    /// The gate opens when `count` have joined; then the next party begins.
    func join(_ count: Int) -> Gate {
        state.withLock { state in
            let gate = state.gate
            state.present += 1
            if state.present == count {
                state = State()
                gate.open()
            }
            return gate
        }
    }
}
