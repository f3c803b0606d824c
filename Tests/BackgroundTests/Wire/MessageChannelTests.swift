import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Connections between program and agent", .timeLimit(.minutes(2)))
struct MessageChannelTests {
    private typealias Channel = MessageChannel<String, String>

    private static func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// One end of a connection, and what came over it.
    private final class End: Sendable {
        let queue = DispatchQueue(label: "of one end")
        let messages = Watched<[String]>([])
        /// The reasons it was ended for.
        let ends = Watched<[String?]>([])
        let channel: Channel

        init(_ descriptor: Int32) throws {
            let (messages, ends) = (messages, ends)
            channel = try queue.sync { [queue] in
                try Channel(descriptor, on: queue) { received in
                    messages.update { $0 += received }
                } ended: { reason in
                    ends.update { $0.append(reason) }
                }
            }
        }

        func send(_ texts: String...) {
            queue.sync { for text in texts { channel.send(text) } }
        }

        func close() {
            queue.sync { channel.close() }
        }
    }

    @Test("Messages that the other end has no room for yet arrive when it has, in order")
    func clogged() async throws {
        let (one, other) = try Self.pair()
        let sender = try End(one)
        let texts = (0..<100).map { "\($0) " + String(repeating: "x", count: 100_000) }
        for text in texts { sender.send(text) }
        let receiver = try End(other)
        try await receiver.messages.wait { $0.count == texts.count }
        #expect(receiver.messages.value == texts)
        receiver.send("thanks")
        try await sender.messages.wait { $0 == ["thanks"] }
        sender.close()
        try await receiver.ends.wait { $0 == [nil] }
        #expect(sender.ends.value.isEmpty)
    }

    @Test("A connection whose other end doesn't read is backed up until it does")
    func backedUp() async throws {
        let (one, other) = try Self.pair()
        let sender = try End(one)
        let text = String(repeating: "x", count: 30_000_000)
        for count in 1...5 {
            sender.send(text)
            #expect(sender.queue.sync { sender.channel.isBackedUp } == (count == 5))
        }
        let receiver = try End(other)
        try await receiver.messages.wait { $0.count == 5 }
        #expect(receiver.messages.value.allSatisfy { $0 == text })
        #expect(!sender.queue.sync { sender.channel.isBackedUp })
        sender.close()
        try await receiver.ends.wait { $0 == [nil] }
    }

    @Test("A handler that waits until everything is written is called then, and not if the connection ends first")
    func written() async throws {
        let text = String(repeating: "x", count: 1_000_000)
        let written = Watched(0)
        for isRead in [false, true] {
            let (one, other) = try Self.pair()
            let sender = try End(one)
            sender.send(text)
            sender.queue.sync { sender.channel.whenWritten { written.update { $0 += 1 } } }
            guard isRead else {
                Glibc.close(other)
                try await sender.ends.wait { $0.count == 1 }
                sender.queue.sync {}
                #expect(written.value == 0)
                continue
            }
            let receiver = try End(other)
            try await written.wait { $0 == 1 }
            try await receiver.messages.wait { $0 == [text] }
            sender.close()
        }
    }

    @Test("Messages that are sent together are written together, at the latest before the connection is closed")
    func together() async throws {
        let (one, other) = try Self.pair()
        let sender = try End(one)
        sender.queue.sync {
            for text in ["a", "b"] { sender.channel.send(text) }
            var byte: UInt8 = 0
            #expect(recv(other, &byte, 1, Int32(MSG_PEEK)) < 0 && errno == EAGAIN)
            sender.channel.flush()
            #expect(recv(other, &byte, 1, Int32(MSG_PEEK)) == 1)
            sender.channel.send("c")
            sender.channel.close()
        }
        let receiver = try End(other)
        try await receiver.ends.wait { $0 == [nil] }
        #expect(receiver.messages.value == ["a", "b", "c"])
    }

    @Test("Messages before one without sense are received")
    func partlySense() async throws {
        let (one, other) = try Self.pair()
        let end = try End(one)
        let bytes: [UInt8] = [0, 0, 0, 3] + Array("\"a\"".utf8) + [0, 0, 0, 1, 1]
        _ = send(other, bytes, bytes.count, 0)
        try await end.ends.wait { $0 == ["a message that makes no sense"] }
        #expect(end.messages.value == ["a"])
        Glibc.close(other)
    }

    @Test("A connection that ends amid a message, or with one that makes no sense, says so as the reason")
    func reasons() async throws {
        for (bytes, reason) in [
            ([0, 0, 0], "the connection ended amid a message"), ([0, 0, 0, 1, 1], "a message that makes no sense"),
        ] as [([UInt8], String)] {
            let (one, other) = try Self.pair()
            let end = try End(one)
            _ = send(other, bytes, bytes.count, 0)
            Glibc.close(other)
            try await end.ends.wait { $0 == [reason] }
        }
    }

    @Test("Many connections whose other ends are killed at the same time don't disturb each other")
    func hangups() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<300 {
                        let (one, other) = try Self.pair()
                        let end = try End(one)
                        end.send("hello")
                        Glibc.close(other)
                        try await end.ends.wait { $0.count == 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
