import CurlTransport
import Dispatch
import Glibc
import TestSupport
import Testing

@Suite("Watching a descriptor", .timeLimit(.minutes(2)))
struct DescriptorWatchTests {
    private struct Pair {
        let ours: Int32
        let theirs: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
            (ours, theirs) = (ends[0], ends[1])
        }
    }

    private let queue = DispatchQueue(label: "watching")

    @Test("A watch tells of bytes, and is silent once it is cancelled")
    func reading() async throws {
        let pair = try Pair()
        let received = Watched<[UInt8]>([])
        let isReleased = Watched(false)
        let watch = try DescriptorWatch(pair.ours, for: .read, on: queue) {
            var byte: UInt8 = 0
            while read(pair.ours, &byte, 1) == 1 { received.update { $0.append(byte) } }
        } released: {
            isReleased.update { $0 = true }
        }
        for byte in UInt8(1)...3 {
            _ = send(pair.theirs, [byte], 1, 0)
            try await received.wait { $0.last == byte }
        }
        watch.cancel()
        try await isReleased.wait { $0 }
        _ = send(pair.theirs, [4], 1, 0)
        queue.sync {}
        #expect(received.value == [1, 2, 3])
        close(pair.ours)
        close(pair.theirs)
    }

    @Test("A watch tells of room to write only while that is asked for")
    func writing() async throws {
        let pair = try Pair()
        let bytes = [UInt8](repeating: 1, count: 4096)
        while send(pair.ours, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
        let room = Watched(0)
        let isReleased = Watched(false)
        let watch = try DescriptorWatch(pair.ours, for: .read, on: queue) {
            room.update { $0 += 1 }
        } released: {
            isReleased.update { $0 = true }
        }
        watch.change(to: [.read, .write])
        var buffer = bytes
        while read(pair.theirs, &buffer, buffer.count) > 0 {}
        try await room.wait { $0 > 0 }
        watch.change(to: .read)
        queue.sync {}
        let count = room.value
        // Dispatch may have been about to tell of it. While others are told of much, it has the time to tell again.
        for _ in 0..<10 { try await hangUp(lowest: 0) }
        queue.sync {}
        #expect(room.value <= count + 1)
        watch.cancel()
        try await isReleased.wait { $0 }
        close(pair.ours)
        close(pair.theirs)
    }

    /// Dispatch keeps what it knows of descriptors in lists, by their numbers' remainders: with the same one, its own sources crash here.
    @Test("Many descriptors that are hung up at the same time don't disturb each other")
    func hangups() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in Int32(0)..<3 {
                group.addTask {
                    for _ in 0..<1000 { try await hangUp(lowest: 15 + 256 * worker) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func hangUp(lowest: Int32) async throws {
        let pair = try Pair()
        let ours = fcntl(pair.ours, F_DUPFD_CLOEXEC, lowest)
        try #require(ours >= 0)
        close(pair.ours)
        let isOver = Watched(false)
        let isReleased = Watched(false)
        let watch = try DescriptorWatch(ours, for: .read, on: DispatchQueue(label: "of its own")) {
            var byte: UInt8 = 0
            if read(ours, &byte, 1) == 0 { isOver.update { $0 = true } }
        } released: {
            close(ours)
            isReleased.update { $0 = true }
        }
        close(pair.theirs)
        try await isOver.wait { $0 }
        watch.cancel()
        try await isReleased.wait { $0 }
    }
}
