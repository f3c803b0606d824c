import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import CurlNetworkingLocks
import Glibc

/// The memory that libcurl works with: the C library's, of which some is kept for what comes next.
///
/// Each transfer has an easy handle of its own, and with it blocks of 1 to 17 KiB. The C library takes a lock for each, searches and
/// merges free memory while it holds that; threads that free what this one has allocated wait meanwhile.
///
/// All blocks are still the C library's: in a program that uses libcurl elsewhere as well, `free` is right for them.
package enum CurlMemory {
    package static let kept = KeptBlocks(limit: 1 << 20)

    /// Like `curl_global_init`, which does nothing if somebody else has initialised libcurl before: then it takes its memory as usual.
    static func initializeCurl() -> CURLcode {
        // That finds errors only in memory that isn't used again.
        let hasAddressSanitizer = dlsym(nil, "__asan_init") != nil
        guard !hasAddressSanitizer else { return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }
        return curl_global_init_mem(
            Int(CURL_GLOBAL_DEFAULT),
            { CurlMemory.kept.block(of: $0) ?? malloc($0) },
            { block in
                if let block, !CurlMemory.kept.keep(block) { free(block) }
            },
            { realloc($0, $1) },
            { text in text.flatMap { strdup($0) } },
            { count, size in
                let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: size)
                guard !isTooMuch, let block = CurlMemory.kept.block(of: bytes) else { return calloc(count, size) }
                return memset(block, 0, bytes)
            }
        )
    }
}

/// Blocks of the C library's memory that were freed, until blocks of such a size are wanted again. Any thread; never blocks: while another
/// thread is here, nothing is kept or found.
package final class KeptBlocks: Sendable {
    /// `@unchecked Sendable`: a block that is kept, or on its way here, is nobody else's.
    private struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
    }

    private struct Shelf {
        var blocks: [Block] = []
        /// Whether such a block has ever been asked for.
        var isWanted = false
    }

    private struct State {
        /// By size, in steps.
        var shelves = [Shelf](repeating: Shelf(), count: KeptBlocks.steps.upperBound + 1)
        /// In bytes.
        var total = 0
    }

    /// The sizes of blocks, in steps. The C library itself keeps smaller ones, for each thread; larger ones are rare.
    private static let steps = 5...80
    /// In bytes.
    private static let step = 256
    /// How many blocks of a size are kept.
    private static let maximumPerSize = 64

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: The most that is kept, in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    deinit {
        for shelf in state.withLock({ $0.shelves }) { shelf.blocks.forEach { free($0.start) } }
    }

    /// How much is kept, in bytes.
    package var total: Int { state.withLock { $0.total } }

    /// At least `size` bytes, with whatever is in them: kept ones, or new ones that can be kept later. nil for sizes that aren't kept, and
    /// if the C library has no memory left.
    func block(of size: Int) -> UnsafeMutableRawPointer? {
        guard size <= Self.steps.upperBound * Self.step else { return nil }
        let steps = (size + Self.step - 1) / Self.step
        guard steps >= Self.steps.lowerBound else { return nil }
        let kept = state.withLockIfAvailable { state -> Block? in
            state.shelves[steps].isWanted = true
            guard let block = state.shelves[steps].blocks.popLast() else { return nil }
            state.total -= steps * Self.step
            return block
        }
        return kept??.start ?? malloc(steps * Self.step)
    }

    /// Takes over a block of any size that nobody uses any more. False if it has to be freed.
    func keep(_ block: UnsafeMutableRawPointer) -> Bool {
        let steps = malloc_usable_size(block) / Self.step
        guard Self.steps.contains(steps) else { return false }
        let block = Block(start: block)
        return state.withLockIfAvailable { [limit] state in
            let size = steps * Self.step
            guard state.total + size <= limit, state.shelves[steps].isWanted,
                state.shelves[steps].blocks.count < Self.maximumPerSize
            else { return false }
            state.total += size
            state.shelves[steps].blocks.append(block)
            return true
        } ?? false
    }
}
