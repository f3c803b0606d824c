import CurlNetworkingLocks
import Foundation

/// Memory for large bodies that are collected whole, reused for later ones: filling fresh pages from the kernel costs more than receiving
/// the bytes that go there.
///
/// Unneeded memory is returned to the system: at once if more than the limit would be kept, otherwise after 5 to 10 seconds.
final class RecycledMemory: Sendable {
    /// For all sessions of the process.
    static let shared = RecycledMemory(limit: 32 << 20) { sweep in
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 5, execute: sweep)
    }

    /// In bytes. Smaller bodies are left to the allocator, which keeps such memory itself; larger ones are rare, and would fill the limit.
    static let sizes = 64 << 10...8 << 20

    /// A piece of memory with one owner. Returned to where it came from with the last reference.
    ///
    /// `@unchecked Sendable`: only its owner writes to it, and only before it is shared.
    final class Block: @unchecked Sendable {
        private var space: Space
        /// nil for the allocator's.
        private let pool: RecycledMemory?

        fileprivate init(_ space: Space, of pool: RecycledMemory?) {
            (self.space, self.pool) = (space, pool)
        }

        deinit {
            if let pool { pool.recycle(space) } else { space.start.deallocate() }
        }

        var bytes: UnsafeMutableRawBufferPointer {
            UnsafeMutableRawBufferPointer(start: space.start, count: space.size)
        }

        /// Enlarges it and keeps its bytes, perhaps at another address. False if another block is better.
        func grow(to size: Int) -> Bool {
            guard pool == nil, !RecycledMemory.sizes.contains(size), let start = realloc(space.start, size) else {
                return false
            }
            space = Space(start: start, size: size)
            return true
        }

        /// Returns its first `count` bytes, without a copy. Call it once, last: the result's owner may change it in place.
        func data(_ count: Int) -> Data {
            Data(bytesNoCopy: space.start, count: count, deallocator: .custom { _, _ in withExtendedLifetime(self) {} })
        }
    }

    /// `@unchecked Sendable`: either owned by one block, or on a shelf.
    fileprivate struct Space: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// In bytes.
        let size: Int

        init(start: UnsafeMutableRawPointer, size: Int) {
            (self.start, self.size) = (start, size)
        }

        init(size: Int) {
            // With this alignment, the memory is malloc's.
            self.init(start: .allocate(byteCount: size, alignment: 16), size: size)
        }
    }

    /// The unused blocks of one size.
    private struct Shelf: Sendable {
        /// Those at the end were used last.
        var idle: [Space] = []
        /// The smallest number that was idle at any time since the last sweep.
        var unneeded = 0

        mutating func take() -> Space? {
            defer { unneeded = min(unneeded, idle.count) }
            return idle.popLast()
        }
    }

    private struct State: Sendable {
        /// By size.
        var shelves: [Int: Shelf] = [:]
        /// In bytes.
        var kept = 0
        var isSweepScheduled = false
    }

    private let state = Mutex(State())
    private let limit: Int
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameters:
    ///   - limit: The most that is kept, in bytes.
    ///   - schedule: Calls its argument once, some time later, on any thread.
    init(limit: Int, schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.limit = limit
        self.schedule = schedule
    }

    deinit {
        for shelf in state.withLock({ $0.shelves.values }) { shelf.idle.forEach { $0.start.deallocate() } }
    }

    /// In bytes.
    var kept: Int { state.withLock { $0.kept } }

    /// Returns a block for `count` bytes, at most a quarter larger. Outside of `sizes` it is the allocator's, and an exact fit.
    func block(for count: Int) -> Block {
        guard Self.sizes.contains(count) else { return Block(Space(size: count), of: nil) }
        // Four sizes for each doubling.
        let step = 1 << (Int.bitWidth - count.leadingZeroBitCount - 3)
        let size = (count + step - 1) / step * step
        let used = state.withLock { state -> Space? in
            guard let space = state.shelves[size]?.take() else { return nil }
            state.kept -= size
            return space
        }
        return Block(used ?? Space(size: size), of: self)
    }

    private func recycle(_ space: Space) {
        let (isKept, isFirst) = state.withLock { state in
            guard state.kept + space.size <= limit else { return (false, false) }
            state.kept += space.size
            state.shelves[space.size, default: Shelf()].idle.append(space)
            let isFirst = !state.isSweepScheduled
            state.isSweepScheduled = true
            return (true, isFirst)
        }
        if !isKept { space.start.deallocate() }
        if isFirst { scheduleSweep() }
    }

    private func scheduleSweep() {
        schedule { [weak self] in self?.sweep() }
    }

    /// Frees the blocks that weren't needed since the last sweep, and schedules another sweep if any are left.
    private func sweep() {
        let (unneeded, isScheduled) = state.withLock { state in
            var unneeded: [Space] = []
            for (size, shelf) in state.shelves {
                unneeded += shelf.idle.prefix(shelf.unneeded)
                state.kept -= size * shelf.unneeded
                let idle = Array(shelf.idle.dropFirst(shelf.unneeded))
                state.shelves[size] = idle.isEmpty ? nil : Shelf(idle: idle, unneeded: idle.count)
            }
            state.isSweepScheduled = !state.shelves.isEmpty
            return (unneeded, state.isSweepScheduled)
        }
        for space in unneeded { space.start.deallocate() }
        if isScheduled { scheduleSweep() }
    }
}
