import Foundation

/// Collects bytes as they arrive, until they are handed over: small amounts are copied into an exact fit, large ones are handed over with
/// their memory, which may be recycled.
struct CollectedBytes: ~Copyable {
    private enum Storage {
        /// Complete, or shared: appended bytes go elsewhere.
        case data(Data)
        /// Not shared.
        case block(RecycledMemory.Block)
    }

    private var storage = Storage.data(Data())
    private(set) var count = 0
    private let memory: RecycledMemory

    /// At most this many bytes are copied, and their memory is kept for later ones.
    private static let maximumKept = 4096

    init(_ memory: RecycledMemory = .shared) {
        self.memory = memory
    }

    /// The memory for the next bytes. Bytes written there count once they are appended, without a copy.
    var room: UnsafeMutableRawBufferPointer {
        guard case .block(let block) = storage else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(rebasing: block.bytes[count...])
    }

    /// Makes room for at least `added` more bytes.
    mutating func reserve(_ added: Int) {
        let needed = count + added
        let size = max(needed, 2 * count)
        switch storage {
        case .data(let data):
            let block = memory.block(for: size)
            data.withUnsafeBytes { block.bytes.copyMemory(from: $0) }
            storage = .block(block)
        case .block(let block):
            guard block.bytes.count < needed, !block.grow(to: size) else { return }
            let larger = memory.block(for: size)
            larger.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[..<count]))
            storage = .block(larger)
        }
    }

    /// - Parameter expected: The expected total number of bytes; 0 if unknown.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expected: Int = 0) {
        guard !bytes.isEmpty else { return }
        defer { count += bytes.count }
        if case .data = storage, count == 0, expected <= bytes.count, bytes.count < RecycledMemory.sizes.lowerBound {
            // Most bodies arrive in one piece, and are copied into an exact fit.
            storage = .data(Data(bytes))
            return
        }
        if room.count < bytes.count { reserve(max(bytes.count, expected - count)) }
        if bytes.baseAddress != UnsafeRawPointer(room.baseAddress) { room.copyMemory(from: bytes) }
    }

    /// All bytes. The caller may change the result.
    var data: Data {
        mutating get {
            let data = contents
            storage = .data(data)
            return data
        }
    }

    /// Returns all bytes, and leaves this empty.
    mutating func takeData() -> Data {
        defer { removeAll() }
        let data = contents
        if isHandedOver { storage = .data(Data()) }
        return data
    }

    /// Returns all as text, and leaves this empty; nil if they aren't UTF-8.
    mutating func takeText() -> String? {
        defer { removeAll() }
        return switch storage {
        case .data(let data): String(validating: data, as: UTF8.self)
        case .block(let block): String(validating: block.bytes[..<count], as: UTF8.self)
        }
    }

    private var contents: Data {
        switch storage {
        case .data(let data): data
        case .block(let block) where isHandedOver: block.data(count)
        // Copying the slice itself would take three times as long.
        case .block(let block): Data(UnsafeRawBufferPointer(rebasing: block.bytes[..<count]))
        }
    }

    /// Whether the memory is handed over with its bytes: it isn't much more than they need.
    private var isHandedOver: Bool {
        guard case .block(let block) = storage else { return true }
        return count > Self.maximumKept && count > block.bytes.count / 2
    }

    private mutating func removeAll() {
        count = 0
        if case .block(let block) = storage, block.bytes.count <= Self.maximumKept { return }
        storage = .data(Data())
    }
}
