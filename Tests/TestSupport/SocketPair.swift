import Foundation

/// Two ends of a connection; the near one is what a channel would have. The system buffers little of what it sends.
package final class SocketPair: Sendable {
    package let near: Int32
    private let far: Int32

    package init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw POSIXError(.EMFILE)
        }
        (near, far) = (ends[0], ends[1])
        // The system's smallest buffer.
        var size: Int32 = 1
        setsockopt(near, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(near)
        close(far)
    }

    /// What has arrived at the far end.
    package func read() -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(far, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return data }
            data.append(contentsOf: buffer[..<count])
        }
    }

    /// What arrives at the far end until the near one has nothing more to send. Blocks.
    package func readToEnd() -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(far, &buffer, buffer.count, 0)
            guard count > 0 else { return data }
            data.append(contentsOf: buffer[..<count])
        }
    }

    /// Sends from the far end.
    package func write(_ text: String) {
        write(Array(text.utf8))
    }

    package func write(_ bytes: [UInt8]) {
        _ = send(far, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The far end goes away.
    package func hangUp() {
        shutdown(far, Int32(SHUT_RDWR))
    }
}
