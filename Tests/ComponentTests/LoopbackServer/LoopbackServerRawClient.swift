import Foundation
import Glibc

/// A blocking TCP client that sends and receives exact bytes. Gives up after ten seconds, so that no test hangs.
final class LoopbackServerRawClient {
    enum Ending: Equatable {
        case finished
        case reset
    }

    struct ConnectionFailed: Error {
        let code: Int32
    }

    struct Answer: Equatable {
        var status: Int
        var head: String
        var body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Received and not yet asked for.
    private var buffer = Data()
    private let descriptor: Int32
    private var isOpen = true

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ConnectionFailed(code: errno) }
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            Glibc.close(descriptor)
            isOpen = false
            throw ConnectionFailed(code: code)
        }
    }

    deinit {
        close()
    }

    func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Sends FIN.
    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Returns false if the connection is gone.
    @discardableResult
    func send(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                let count = Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Data(text.utf8)) }

    func get(_ path: String, _ fields: String = "") {
        send("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
    }

    /// Exactly so many bytes; fewer if the connection ends before.
    func receive(_ count: Int) -> Data {
        while buffer.count < count, fill() == nil {}
        defer { buffer = Data(buffer.dropFirst(count)) }
        return Data(buffer.prefix(count))
    }

    /// Everything up to the end of the connection, and how it ended.
    func receiveAll() -> (data: Data, ending: Ending?) {
        while true {
            if let ending = fill() {
                defer { buffer = Data() }
                return (buffer, ending == 0 ? .finished : ending == ECONNRESET ? .reset : nil)
            }
        }
    }

    /// The next response; nil if the connection ends before its body. Understands Content-Length only.
    func receiveAnswer(toHead: Bool = false) -> Answer? {
        while true {
            if let end = buffer.range(of: Data("\r\n\r\n".utf8)) {
                let head = String(decoding: receive(end.upperBound - buffer.startIndex), as: UTF8.self)
                let words = head.split(separator: " ")
                guard words.count > 1, let status = Int(words[1]) else { return nil }
                let length = toHead ? 0 : Self.contentLength(head)
                let body = receive(length)
                return body.count == length ? Answer(status: status, head: head, body: body) : nil
            }
            if fill() != nil { return nil }
        }
    }

    private static func contentLength(_ head: String) -> Int {
        for line in head.components(separatedBy: "\r\n") where line.lowercased().hasPrefix("content-length:") {
            return Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) ?? 0
        }
        return 0
    }

    /// Receives more. Nil if something came, 0 at the end, otherwise the errno.
    private func fill() -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 1) { space in
            let count = recv(descriptor, space.baseAddress, space.count, 0)
            if count > 0, let base = space.baseAddress {
                buffer.append(base.assumingMemoryBound(to: UInt8.self), count: count)
                return nil
            }
            return count == 0 ? 0 : errno
        }
    }
}
