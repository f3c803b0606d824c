import CurlTransport
import Foundation
import Glibc

/// A connection over which messages go both ways. Everything happens on its queue, which calls `received` and, once, `ended`.
///
/// `@unchecked Sendable`: used on its queue alone.
final class MessageChannel<Incoming: Decodable & Sendable, Outgoing: Encodable & Sendable>: @unchecked Sendable {
    let peer: UnixSocket.Peer
    private let descriptor: Int32
    private var connection = Connection.closed
    private var frames = FrameReader()
    /// Begins with what the other end had no room for yet.
    private var unsent = Data()

    private enum Connection {
        case open(DescriptorWatch)
        /// As above; also waits for the other end to have room.
        case clogged(DescriptorWatch)
        case closed
    }

    private let received: (Incoming) -> Void
    private let ended: (String?) -> Void

    /// What waits for a peer that doesn't read is bounded, in bytes.
    private static var maximumUnsent: Int { 256 << 20 }

    /// Takes over `descriptor`. Where this throws, it is closed: the other end is another user's process (`EPERM`), or this one is out of
    /// descriptors.
    ///
    /// - Parameters:
    ///   - received: Gets every message.
    ///   - ended: Called when the connection is over, with the reason if that is anything but its end. Not after `close()`.
    init(
        _ descriptor: Int32,
        on queue: DispatchQueue,
        received: @escaping (Incoming) -> Void,
        ended: @escaping (String?) -> Void
    ) throws(SystemError) {
        guard let peer = UnixSocket.peer(of: descriptor), peer.user == geteuid() else {
            Glibc.close(descriptor)
            throw SystemError(code: EPERM)
        }
        self.peer = peer
        self.descriptor = descriptor
        self.received = received
        self.ended = ended
        do throws(SystemError) {
            connection = .open(
                try DescriptorWatch(descriptor, for: .read, on: queue) { [weak self] in
                    self?.becameReady()
                } released: {
                    Glibc.close(descriptor)
                }
            )
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private var isOpen: Bool { if case .closed = connection { false } else { true } }

    /// Ends the connection; what could not be sent so far is lost.
    func close() {
        switch connection {
        case .open(let watch), .clogged(let watch):
            connection = .closed
            shutdown(descriptor, Int32(SHUT_RDWR))
            watch.cancel()
        case .closed:
            break
        }
    }

    private func becameReady() {
        if case .clogged = connection { write() }
        read()
    }

    private func end(_ reason: String?) {
        guard isOpen else { return }
        close()
        ended(reason)
    }

    // MARK: - Reading

    /// Reads what there is, such that the end of a process is noticed that has closed its end meanwhile.
    func read() {
        guard isOpen else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while isOpen {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 {
                frames.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                takeMessages()
                continue
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN || errno == EWOULDBLOCK { return }
                return end("\(SystemError.current)")
            }
            return end(frames.isAmidFrame ? "the connection ended amid a message" : nil)
        }
    }

    private func takeMessages() {
        do {
            while isOpen, let content = try frames.next() {
                received(try WireCoding.decoder.decode(Incoming.self, from: content))
            }
        } catch let error as FrameReader.Oversized {
            end("a message of \(error.length) bytes")
        } catch {
            end("a message that makes no sense")
        }
    }

    // MARK: - Writing

    /// Sends a message, or keeps it until the other end has room. False where it is too long to be sent.
    @discardableResult
    func send(_ message: Outgoing) -> Bool {
        guard isOpen else { return true }
        guard let content = try? WireCoding.encoder.encode(message), let frame = FrameReader.frame(content) else {
            return false
        }
        guard unsent.count + frame.count <= Self.maximumUnsent else {
            end("the other end doesn't read")
            return true
        }
        unsent.append(frame)
        if case .open = connection { write() }
        return true
    }

    private func write() {
        while isOpen, !unsent.isEmpty {
            let count = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN || errno == EWOULDBLOCK { break }
                // The reading end tells of it, after what had come before: there is no connection without all messages.
                shutdown(descriptor, Int32(SHUT_RDWR))
                unsent = Data()
                break
            }
            unsent = count == unsent.count ? Data() : Data(unsent.dropFirst(count))
        }
        switch connection {
        case .open(let watch) where !unsent.isEmpty:
            connection = .clogged(watch)
            watch.change(to: [.read, .write])
        case .clogged(let watch) where unsent.isEmpty:
            connection = .open(watch)
            watch.change(to: .read)
        case .open, .clogged, .closed:
            break
        }
    }
}
