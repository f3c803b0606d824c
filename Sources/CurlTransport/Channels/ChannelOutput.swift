/// Bytes that wait to be sent. What has been offered to libcurl stays where it is until it is sent: OpenSSL wants to see an interrupted
/// write again at the same address, and no shorter.
struct ChannelOutput: ~Copyable {
    private var sending = Block()
    private var filling = Block()

    var isEmpty: Bool { sending.isEmpty && filling.isEmpty }
    /// How many bytes wait.
    var count: Int { sending.count + filling.count }

    /// Adds so many bytes, which `write` must fill in.
    mutating func append(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        guard count > 0 else { return }
        filling.append(count, write)
    }

    /// What is to be sent next; empty where nothing is left.
    mutating func next() -> UnsafeRawBufferPointer {
        if sending.isEmpty {
            sending.removeAll()
            swap(&sending, &filling)
        }
        return sending.bytes
    }

    /// So many bytes of what `next` has returned are sent.
    mutating func sent(_ count: Int) {
        sending.removeFirst(count)
    }

    mutating func removeAll() {
        sending.removeAll()
        filling.removeAll()
    }

    /// Memory with bytes in its middle.
    private struct Block: ~Copyable {
        private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        private var start = 0
        private var end = 0

        /// An empty block keeps no more memory than that.
        private static let mostKept = 4096

        deinit {
            memory.deallocate()
        }

        var isEmpty: Bool { start == end }
        var count: Int { end - start }
        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

        mutating func append(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
            if memory.count - end < count { grow(by: count) }
            write(UnsafeMutableRawBufferPointer(rebasing: memory[end..<(end + count)]))
            end += count
        }

        private mutating func grow(by added: Int) {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(512, 2 * count, count + added),
                alignment: MemoryLayout<UInt64>.alignment
            )
            larger.copyMemory(from: bytes)
            memory.deallocate()
            (memory, start, end) = (larger, 0, count)
        }

        mutating func removeFirst(_ count: Int) {
            start += min(count, self.count)
        }

        mutating func removeAll() {
            (start, end) = (0, 0)
            guard memory.count > Self.mostKept else { return }
            memory.deallocate()
            memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }
}
