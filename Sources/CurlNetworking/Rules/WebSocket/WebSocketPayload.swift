import Foundation

/// The bytes of a message that is arriving. A large message is handed over with its memory.
final class WebSocketPayload {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0

    /// A message that is no larger is copied, and its memory kept for the next one. In bytes.
    private static let mostKept = 4096

    deinit {
        memory.deallocate()
    }

    private var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Where the next bytes belong. What is written there counts once it is appended, which doesn't copy it then.
    var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

    /// Makes room for so many more bytes at least.
    func reserve(_ added: Int) {
        guard memory.count - count < added else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(count + added, 2 * memory.count),
            alignment: MemoryLayout<UInt64>.alignment
        )
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        if room.count < bytes.count || bytes.baseAddress != UnsafeRawPointer(room.baseAddress) {
            reserve(bytes.count)
            room.copyMemory(from: bytes)
        }
        count += bytes.count
    }

    /// Leaves this empty.
    func takeData() -> Data {
        defer { forget() }
        // Without holding on to much more memory than it has bytes.
        guard let start = memory.baseAddress, count > Self.mostKept, count > memory.count / 2 else {
            return Data(bytes)
        }
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
    }

    /// Leaves this empty; nil where the bytes are not UTF-8.
    func takeText() -> String? {
        defer { forget() }
        return String(validating: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
    }

    private func forget() {
        count = 0
        guard memory.count > Self.mostKept else { return }
        memory.deallocate()
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }
}
