import Foundation
import Glibc

/// Answers every connection with the same bytes, whatever it is asked, and closes it. On a Unix socket without a file, with a thread of its
/// own.
final class ByteServer: Sendable {
    /// The socket's, in Linux's abstract namespace.
    let name = "bytes-\(UUID().uuidString)"

    private let listener: Int32
    private let answer = Answer()

    /// Traps where it can't listen: there is nothing to be tried then.
    init() {
        let (name, listener) = (self.name, socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            UnsafeMutableRawBufferPointer(rebasing: bytes[1...]).copyBytes(from: name.utf8)
        }
        // The family, the NUL that marks such names, and the name.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let isListening = withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
            }
        }
        precondition(isListening)
        self.listener = listener
        Thread.detachNewThread { [answer] in Self.serve(listener, answer) }
    }

    deinit {
        // The thread ends by that, and closes it.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// What the next connections are answered with.
    func answer(with bytes: UnsafeRawBufferPointer) {
        answer.bytes = Array(bytes)
    }

    private static func serve(_ listener: Int32, _ answer: Answer) {
        var request = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else {
                if [EINTR, ECONNABORTED].contains(errno) { continue }
                close(listener)
                return
            }
            _ = recv(connection, &request, request.count, 0)
            let bytes = answer.bytes
            // In two pieces, cut at a place that the bytes themselves decide.
            let cut = bytes.isEmpty ? 0 : Int(bytes[bytes.count / 2]) * bytes.count / 256
            for piece in [bytes[..<cut], bytes[cut...]] where !piece.isEmpty {
                _ = piece.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            close(connection)
        }
    }

    /// `@unchecked Sendable`: the lock guards it.
    private final class Answer: @unchecked Sendable {
        private let lock = NSLock()
        private var current: [UInt8] = []

        var bytes: [UInt8] {
            get { lock.withLock { current } }
            set { lock.withLock { current = newValue } }
        }
    }
}
