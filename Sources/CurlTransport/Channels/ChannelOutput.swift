/// Bytes waiting to be sent. Bytes offered to libcurl stay in place until they are sent: OpenSSL requires an interrupted write to be
/// repeated with the same address, and no fewer bytes.
package struct ChannelOutput: ~Copyable {
    private var sending = Block()
    private var filling = Block()

    package init() {}

    package var isEmpty: Bool { sending.isEmpty && filling.isEmpty }
    package var count: Int { sending.count + filling.count }

    /// Adds `count` bytes, which `write` must fill in.
    package mutating func append(count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        guard count > 0 else { return }
        filling.append(count, write)
    }

    /// The bytes to send next; empty if nothing is left.
    package mutating func next() -> UnsafeRawBufferPointer {
        if sending.isEmpty {
            sending.removeAll()
            swap(&sending, &filling)
        }
        return sending.bytes
    }

    /// Removes `count` of the bytes that `next` returned: they were sent.
    package mutating func sent(_ count: Int) {
        sending.removeFirst(count)
    }

    package mutating func removeAll() {
        sending.removeAll()
        filling.removeAll()
    }

    /// Memory whose middle part contains the bytes.
    private struct Block: ~Copyable {
        private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        private var start = 0
        private var end = 0

        /// The most memory that an empty block keeps.
        private static let maximumKept = 4096

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
            guard memory.count > Self.maximumKept else { return }
            memory.deallocate()
            memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }
}
