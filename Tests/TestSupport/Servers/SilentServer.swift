import Glibc
import Foundation

/// A server that accepts connections and never sends anything. It ends with `stop()`, which every test must call.
package final class SilentServer: Sendable {
    package let port: Int
    private let listener: Int32
    private let accepted = Watched<[Int32]>([])

    package init() throws {
        (listener, port) = try ListeningSocket.open(backlog: 64, for: "silence")
        let thread = Thread { [listener, accepted] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                accepted.update { $0.append(socket) }
            }
        }
        thread.start()
    }

    /// Returns when this many connections have been made.
    package func waitForConnections(_ count: Int) async throws {
        try await accepted.wait { $0.count >= count }
    }

    package func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        for socket in accepted.value { close(socket) }
    }
}
