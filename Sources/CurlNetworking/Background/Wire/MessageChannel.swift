import CurlTransport
import Foundation
import Glibc

/// A connection over which messages go in both directions. Everything happens on its queue, which calls `received` and, once, `ended`.
///
/// Messages are sent in one write, once the queue has finished its current work; messages that arrive together are received together.
///
/// `@unchecked Sendable`: used only on its queue.
final class MessageChannel<Incoming: Decodable & Sendable, Outgoing: Encodable & Sendable>: @unchecked Sendable {
    let peer: UnixSocket.Peer
    private let descriptor: Int32
    private let queue: DispatchQueue
    private var connection = Connection.closed
    private var frames = FrameReader()
    /// Bytes yet to be written, beginning with those for which the other end had no room.
    private var unsent = ChannelOutput()
    /// Called when those have been written.
    private var written: (@Sendable () -> Void)?

    private enum Connection {
        /// Nothing is unsent.
        case open(DescriptorWatch)
        /// The queue is about to write.
        case gathering(DescriptorWatch)
        /// Waits until the other end has room.
        case clogged(DescriptorWatch)
        case closed
    }

    private let received: ([Incoming]) -> Void
    private let ended: (String?) -> Void

    /// The most that may wait for a peer that doesn't read, in bytes.
    private static var maximumUnsent: Int { 256 << 20 }
    /// Output of more than this, in bytes, is written at once.
    private static var maximumGathered: Int { 64 << 10 }

    /// Takes over `descriptor`, and closes it if this throws: the other end is another user's process (`EPERM`), or this process has run
    /// out of descriptors.
    ///
    /// - Parameters:
    ///   - received: Called with all messages, one or more at a time, in order.
    ///   - ended: Called when the connection is over, with the reason unless it simply ended. Not called after `close()`.
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

    /// Whether the other end reads so slowly that over half of `maximumUnsent` is waiting.
    var isBackedUp: Bool { unsent.count > Self.maximumUnsent / 2 }

    private var isOpen: Bool { if case .closed = connection { false } else { true } }

    /// Ends the connection; bytes for which the other end has no room are lost.
    func close() {
        flush()
        switch connection {
        case .open(let watch), .gathering(let watch), .clogged(let watch):
            connection = .closed
            written = nil
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

    /// Reads what has arrived, and so notices if the other process has meanwhile closed its end.
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

    /// Sends a message a little later, or when the other end has room. Returns false if it is too long.
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
        unsent.append(count: frame.count) { $0.copyBytes(from: frame) }
        if case .open(let watch) = connection {
            connection = .gathering(watch)
            queue.async { self.flush() }
        }
        if unsent.count > Self.maximumGathered { flush() }
        return true
    }

    /// Calls `body`, in place of an earlier one, when everything has been written; never if the connection ends first.
    func whenWritten(_ body: @escaping @Sendable () -> Void) {
        if unsent.isEmpty { queue.async(execute: body) } else { written = body }
    }

    /// Writes gathered output: the process may exit afterwards.
    func flush() {
        if case .gathering = connection { write() }
    }

    /// Sends as much as the other end has room for.
    private func sendUnsent() {
        while isOpen, !unsent.isEmpty {
            let bytes = unsent.next()
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN || errno == EWOULDBLOCK { break }
                // The reading end reports the failure, after everything that arrived before it: a connection either has all messages or is
                // over.
                shutdown(descriptor, Int32(SHUT_RDWR))
                unsent.removeAll()
                written = nil
                break
            }
            unsent.sent(count)
        }
    }

    /// Watches for room as long as something is left to send.
    private func write() {
        sendUnsent()
        // A long message's memory isn't kept.
        if unsent.isEmpty {
            unsent.removeAll()
            if let written = written.take() { queue.async(execute: written) }
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
