import Foundation
import CurlNetworkingLoopbackServer
import Synchronization

/// What a scenario has around it: servers to talk to, a directory of its own, and the log of what happened.
package final class Stage: Sendable {
    /// An empty directory, for this scenario's files.
    package let directory: URL
    private let log: Log
    private let servers = Mutex<[(server: LoopbackServer, inOrder: Bool, isLogged: Bool)]>([])

    package init(log: Log, directory: URL) {
        self.log = log
        self.directory = directory
    }

    /// Logs that something happened.
    package func note(_ name: String, _ details: [String: String] = [:], lane: String = "client") {
        log.append(Event(lane: lane, name, details))
    }

    // MARK: - Servers

    /// A server for this scenario. The requests it has seen are part of the timeline.
    ///
    /// - Parameters:
    ///   - inOrder: False where requests come side by side, and which is first is chance.
    ///   - isLogged: False where it is chance, or a matter of libcurl's version, how much of a request comes.
    package func serve(
        host: String = "127.0.0.1",
        inOrder: Bool = true,
        isLogged: Bool = true,
        answering: LoopbackServer.Answering = .afterBody,
        options: LoopbackServer.Options = LoopbackServer.Options(),
        _ handler: @escaping LoopbackServer.Handler
    ) throws -> LoopbackServer {
        let server = try LoopbackServer(host: host, answering: answering, options: options, handler)
        return adopt(server, inOrder: inOrder, isLogged: isLogged)
    }

    /// A server that answers each connection's first bytes with these steps, whatever they ask for.
    package func answer(_ steps: LoopbackServer.Step...) throws -> LoopbackServer {
        try serve { _ in .raw(steps) }
    }

    /// A server that takes connections and does these steps at once, before anybody has asked for something.
    package func greet(_ steps: LoopbackServer.Step...) throws -> LoopbackServer {
        adopt(
            try LoopbackServer { _ in
                { event in
                    if case .opened = event { steps } else { [] }
                }
            }
        )
    }

    /// A server that converses over each connection.
    package func connect(
        options: LoopbackServer.Options = LoopbackServer.Options(),
        _ conversation: @escaping LoopbackServer.Conversation
    ) throws -> LoopbackServer {
        adopt(try LoopbackServer(options: options) { _ in conversation })
    }

    /// A URL where nobody listens.
    package func nobody() throws -> URL {
        let port = try LoopbackServer.unusedPort()
        log.call("127.0.0.1:\(port)", "nobody")
        return try url("http://127.0.0.1:\(port)/")
    }

    private func adopt(_ server: LoopbackServer, inOrder: Bool = true, isLogged: Bool = true) -> LoopbackServer {
        let count = servers.withLock { servers in
            servers.append((server, inOrder, isLogged))
            return servers.count
        }
        let authority = server.url.absoluteString.dropFirst("http://".count)
        log.call(String(authority), count == 1 ? "server" : "server\(count)")
        // Where a scenario calls the host by another name.
        log.call(":\(server.port)", ":port")
        return server
    }

    // MARK: - Data

    package func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw StageError(description: "\(text) is no URL") }
        return url
    }

    /// A file with this content.
    package func file(_ name: String, _ content: Data) throws -> URL {
        let url = directory.appendingPathComponent(name)
        try content.write(to: url)
        return url
    }

    // MARK: - The end

    /// Logs what the servers have seen, once the scenario is over.
    package func finish() {
        let servers = servers.withLock { $0 }
        for (index, (server, inOrder, isLogged)) in servers.enumerated() where isLogged {
            let lane = index == 0 ? "server" : "server \(index + 1)"
            let requests = server.requests
            for request in inOrder ? requests : requests.sorted(by: { $0.target < $1.target }) {
                note("request", request.details, lane: lane)
            }
        }
    }
}

package struct StageError: Error, CustomStringConvertible {
    package let description: String
}

extension LoopbackServer.Request {
    fileprivate var details: [String: String] {
        let fields = headers.filter { !isConnectionDefault($0) && !isOffer($0) }.map { "\($0.name): \(neutral($0))" }
        var details = [
            "line": "\(method) \(target) \(httpVersion)",
            "headers": fields.sorted().joined(separator: " | "),
        ]
        if bodyLength > 0 || header("Content-Length") != nil { details["body"] = Text.body(body) }
        if bodyState == .cutOff { details["cut off"] = "yes" }
        return details
    }

    /// What HTTP/1.1 means without being told (RFC 9112 §9.3).
    private func isConnectionDefault(_ field: LoopbackServer.Field) -> Bool {
        field.name.lowercased() == "connection" && field.value.lowercased() == "keep-alive"
    }

    /// The stock module doesn't offer to resume uploads.
    private func isOffer(_ field: LoopbackServer.Field) -> Bool {
        ["upload-draft-interop-version", "upload-complete"].contains(field.name.lowercased())
    }

    /// Versions say nothing about the transport, and what is random is another each time.
    private func neutral(_ field: LoopbackServer.Field) -> String {
        switch field.name {
        case "User-Agent":
            guard let version = field.value.range(of: "curl/") else { return field.value }
            return field.value[..<version.upperBound] + "…"
        case "Authorization":
            return field.value.replacing(/\b(cnonce|response)="[^"]*"/) { "\($0.1)=\"…\"" }
        default:
            return field.value
        }
    }
}
