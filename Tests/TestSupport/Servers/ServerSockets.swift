import CurlNetworkingLocks
import Foundation
import Glibc

/// A scripted server's listening socket and the connections that it has accepted. They end with `stop()`.
final class ServerSockets: Sendable {
    let port: Int
    private let listener: Int32
    private let state = Mutex((accepted: [Int32](), isStopped: false))

    init(port: Int = 0, backlog: Int32, for purpose: String) throws {
        (listener, self.port) = try ListeningSocket.open(port: port, backlog: backlog, for: purpose)
    }

    /// On a Unix domain socket with this path.
    init(path: String, backlog: Int32, for purpose: String) throws {
        port = 0
        listener = try ListeningSocket.openUnix(path, backlog: backlog, for: purpose)
    }

    /// Calls `serve` with each connection, on a thread that accepts no other until it returns.
    func acceptAll(_ serve: @escaping @Sendable (Int32) -> Void) {
        let thread = Thread { [self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0, keep(socket) else { return }
                serve(socket)
            }
        }
        thread.start()
    }

    /// Has `stop()` end this connection, too. False if that was called before.
    @discardableResult
    func keep(_ socket: Int32) -> Bool {
        state.withLock { state in
            state.accepted.append(socket)
            return !state.isStopped
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        let accepted = state.withLock { state in
            state.isStopped = true
            return state.accepted
        }
        for socket in accepted { shutdown(socket, Int32(SHUT_RDWR)) }
    }
}
