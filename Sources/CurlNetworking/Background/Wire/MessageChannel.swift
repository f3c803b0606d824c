import CurlTransport
import Foundation
import Glibc

/// A connection over which messages go both ways. Everything happens on its queue, which calls `received` and, once, `ended`.
///
/// What is sent leaves when the queue has done what it has to do by then, all of it in one write; what has come together is received together.
///
/// `@unchecked Sendable`: used on its queue alone.
final class MessageChannel<Incoming: Decodable & Sendable, Outgoing: Encodable & Sendable>: @unchecked Sendable {
    let peer: UnixSocket.Peer
    private let descriptor: Int32
    private let queue: DispatchQueue
    private var connection = Connection.closed
    private var frames = FrameReader()
    /// What has yet to be written. It begins with what the other end had no room for.
    private var unsent = Data()

    private enum Connection {
        /// Nothing is unsent.
        case open(DescriptorWatch)
        /// The queue is about to write.
        case gathering(DescriptorWatch)
        /// Waits for the other end to have room.
        case clogged(DescriptorWatch)
        case closed
    }

    private let received: ([Incoming]) -> Void
    private let ended: (String?) -> Void

    /// What waits for a peer that doesn't read is bounded, in bytes.
    private static var maximumUnsent: Int { 256 << 20 }
    /// More than this is written at once, in bytes.
    private static var maximumGathered: Int { 64 << 10 }

    /// Takes over `descriptor`. Where this throws, it is closed: the other end is another user's process (`EPERM`), or this one is out of
    /// descriptors.
    ///
    /// - Parameters:
    ///   - received: Gets all messages, one or more at a time, in order.
    ///   - ended: Called when the connection is over, with the reason if that is anything but its end. Not after `close()`.
    init(
        _ descriptor: Int32,
        on queue: DispatchQueue,
        received: @escaping ([Incoming]) -> Void,
        ended: @escaping (String?) -> Void
    ) throws(SystemError) {
        guard let peer = UnixSocket.peer(of: descriptor), peer.user == geteuid() else {
            Glibc.close(descriptor)
            throw SystemError(code: EPERM)
        }
        self.peer = peer
        self.descriptor = descriptor
        self.queue = queue
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

    /// Ends the connection; what the other end has no room for is lost.
    func close() {
        flush()
        switch connection {
        case .open(let watch), .gathering(let watch), .clogged(let watch):
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
        var messages: [Incoming] = []
        var fault: String?
        do {
            while let content = try frames.next() {
                messages.append(try WireCoding.decoder.decode(Incoming.self, from: content))
            }
        } catch let error as FrameReader.Oversized {
            fault = "a message of \(error.length) bytes"
        } catch {
            fault = "a message that makes no sense"
        }
        if !messages.isEmpty { received(messages) }
        if let fault { end(fault) }
    }

    // MARK: - Writing

    /// Sends a message a little later, or when the other end has room. False where it is too long to be sent.
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
        if case .open(let watch) = connection {
            connection = .gathering(watch)
            queue.async { self.flush() }
        }
        if unsent.count > Self.maximumGathered { flush() }
        return true
    }

    /// Writes what has been gathered: a process may end after that.
    func flush() {
        if case .gathering = connection { write() }
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
        case .gathering(let watch) where unsent.isEmpty:
            connection = .open(watch)
        case .gathering(let watch):
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
