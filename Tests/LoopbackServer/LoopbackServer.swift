import Foundation

/// A small HTTP/1.1 server within this process that does what a test or a demo tells it to, faults included.
///
///     let server = try LoopbackServer { request in
///         request.path == "/hello" ? .text("Hello") : .status(404)
///     }
///     … server.url("/hello") …
///     server.stop()
///
/// One thread serves all of a server's connections, even thousands. Its methods may be called from any thread,
/// including the handler's.
package final class LoopbackServer: Sendable {
    /// Answers a request. Called on the server's loop, one request at a time: while it runs, the server does nothing
    /// else. It must not keep the server alive; capture it weakly.
    package typealias Handler = @Sendable (Request) -> Response

    /// The port the server listens on; 0 on a Unix socket.
    package let port: Int
    /// For example `http://127.0.0.1:40123`; on a Unix socket `http+unix://%2Ftmp%2Fserver.sock`.
    package let url: URL

    let recorder = Recorder()
    private let loop: EventLoop
    private let core: ServerCore

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - host: A numeric address, such as `127.0.0.1` or `::1`.
    ///   - port: 0 for a free one.
    /// - Throws: `SocketError` if it can't listen there.
    package convenience init(
        host: String = "127.0.0.1",
        port: Int = 0,
        answering: Answering = .afterBody,
        options: Options = Options(),
        _ handler: @escaping Handler
    ) throws {
        try self.init(host: host, port: port, options: options, service: .http(answering, handler))
    }

    /// Starts a server that speaks something other than HTTP.
    ///
    /// - Parameter conversation: Called for every new connection, with its number, from 1.
    package convenience init(
        host: String = "127.0.0.1",
        port: Int = 0,
        options: Options = Options(),
        conversation: @escaping @Sendable (Int) -> Conversation
    ) throws {
        try self.init(host: host, port: port, options: options, service: .stream(conversation))
    }

    private convenience init(host: String, port: Int, options: Options, service: Service) throws {
        let listener = try Sockets.listen(host: host, port: port, backlog: options.backlog)
        try self.init(listener: listener, options: options, service: service) {
            let port = try Sockets.localPort(listener)
            let authority = host.contains(":") ? "[\(host)]" : host
            guard let url = URL(string: "http://\(authority):\(port)") else {
                throw SocketError(call: "inet_pton", code: EINVAL)
            }
            return (url, port)
        }
    }

    /// Serves `listener`, and closes it if that fails.
    init(listener: Int32, options: Options, service: Service, place: () throws -> (url: URL, port: Int)) throws {
        do {
            (url, port) = try place()
            loop = try EventLoop()
        } catch {
            close(listener)
            throw error
        }
        core = ServerCore(listener: listener, loop: loop, recorder: recorder, options: options, service: service)
        loop.start(delegate: core)
    }

    deinit {
        loop.stop()
    }

    /// The server's URL with this path and query.
    package func url(_ path: String) -> URL {
        let path = path.hasPrefix("/") ? path : "/" + path
        return URL(string: url.absoluteString + path) ?? url.appendingPathComponent(path)
    }

    // MARK: - Control

    /// Closes the listening socket and all connections, and returns when they are closed. Called from the handler, it
    /// returns at once and takes effect after it. Does nothing the second time.
    package func stop() {
        loop.stop()
    }

    /// Closes the listening socket: further connections are refused. Existing ones stay open.
    package func stopListening() {
        let core = core
        _ = loop.perform { core.closeListener() }
    }

    /// Closes (FIN) all connections that are between two requests, and returns how many there were. What a client still
    /// has in its pool is then stale.
    @discardableResult
    package func dropIdleConnections() -> Int {
        let core = core
        return loop.perform { core.closeIdleConnections() } ?? 0
    }

    /// Resets (RST) all connections, whatever they are doing, and returns how many there were.
    @discardableResult
    package func resetConnections() -> Int {
        let core = core
        return loop.perform { core.resetConnections() } ?? 0
    }

    /// A port of `127.0.0.1` on which nothing ever listens: connections to it are refused.
    package static func refusingPort() throws -> Int { try Sockets.localPort(refusing.get()) }
    /// Never closed.
    private static let refusing = Result { try Sockets.bound(host: "127.0.0.1", port: 0, isReusable: false) }

    /// A port of `127.0.0.1` on which nothing listens: connections to it are refused, as long as no one else gets it.
    package static func unusedPort() throws -> Int {
        let listener = try Sockets.listen(host: "127.0.0.1", port: 0, backlog: 1)
        defer { close(listener) }
        return try Sockets.localPort(listener)
    }
}
