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
                try Channel(descriptor, on: queue) { message in
                    messages.update { $0.append(message) }
                } ended: { reason in
                    ends.update { $0.append(reason) }
                }
            }
        }

        func send(_ message: String) {
            queue.sync { _ = channel.send(message) }
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

    @Test("An end amid a message, and a message without sense, are reasons")
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
