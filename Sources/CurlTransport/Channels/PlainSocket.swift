import CurlNetworkingLocks
import Glibc

/// The socket of a channel without TLS or a proxy: libcurl adds nothing to its bytes and holds none back. Any thread may send and receive
/// on it, without waiting for the channel's loop.
///
/// No call blocks. An error counts as nothing sent or received: the channel discovers it on its loop, and reports it.
package final class PlainSocket: Sendable {
    private struct State {
        /// nil once only the loop uses the socket, or libcurl has closed it: the number may then belong to another socket.
        var descriptor: Int32?
        /// Whether a call has met an error. The system reports an error only once, and then the end.
        var hasFailed = false
    }

    private let state: Mutex<State>

    init(_ descriptor: Int32) {
        state = Mutex(State(descriptor: descriptor))
    }

    /// Returns how many of `bytes` the system has taken.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        perform { Glibc.send($0, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
    }

    /// Returns how many bytes were read into `buffer`.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        perform { recv($0, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) }
    }

    private func perform(_ call: (Int32) -> Int) -> Int {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return 0 }
            let count = call(descriptor)
            if count < 0, errno != EAGAIN, errno != EINTR { state.hasFailed = true }
            return max(0, count)
        }
    }

    /// Whether a call has met an error, which the channel can no longer see.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Called before the socket is closed, and when its bytes are to be read only on the loop. Waits for any call in progress, which is
    /// brief.
    func withdraw() {
        state.withLock { $0.descriptor = nil }
    }
}
