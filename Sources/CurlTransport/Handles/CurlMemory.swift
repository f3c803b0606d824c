import CCurlNetworkingLibcurl
import CCurlNetworkingLinux
import CurlNetworkingLocks
import Glibc

/// libcurl's memory: the C library's, with some freed blocks kept for reuse.
///
/// Each transfer has its own easy handle, and with it blocks of 1 to 17 KiB. For each block the C library takes a lock, and searches and
/// merges free memory while holding it; threads that free memory allocated by this one wait meanwhile.
///
/// All blocks still come from the C library: a program that also uses libcurl elsewhere can pass them to `free`.
package enum CurlMemory {
    /// Enough for 64 small HTTP transfers, which take 23 KiB each.
    package static let kept = KeptBlocks(limit: 3 << 19)

    /// Like `curl_global_init`, which does nothing if libcurl has already been initialised: libcurl then allocates memory as usual.
    static func initializeCurl() -> CURLcode {
        // AddressSanitizer finds errors only in memory that isn't reused.
        let hasAddressSanitizer = dlsym(nil, "__asan_init") != nil
        guard !hasAddressSanitizer else { return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }
        return curl_global_init_mem(
            Int(CURL_GLOBAL_DEFAULT),
            { CurlMemory.allocate($0) },
            { block in
                // For each transfer, libcurl frees nil more than two hundred times.
                if let block { CurlMemory.release(block) }
            },
            { realloc($0, $1) },
            { text in text.flatMap { strdup($0) } },
            { CurlMemory.allocateZeroed($0, $1) }
        )
    }

    // Nearly all blocks are small, so their sizes are looked at first.

    /// Not inlined, because the compiler would make a `calloc` of `malloc` and `memset`.
    @inline(never)
    static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        (size > KeptBlocks.smallSize ? kept.block(of: size) : nil) ?? malloc(size)
    }

    /// Before glibc 2.41, `calloc` takes the C library's lock even for sizes of which each thread keeps freed blocks. Large blocks it needn't
    /// fill if they have just come from the kernel.
    static func allocateZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
        let (bytes, isTooMuch) = UInt(bitPattern: count).multipliedReportingOverflow(by: UInt(bitPattern: size))
        guard !isTooMuch else { return nil }
        guard bytes <= KeptBlocks.largestSize else { return calloc(count, size) }
        return allocate(Int(bytes)).map { memset($0, 0, Int(bytes)) }
    }

    /// Not inlined, so that freeing nil takes only a few instructions.
    @inline(never)
    static func release(_ block: UnsafeMutableRawPointer) {
        if malloc_usable_size(block) <= KeptBlocks.smallSize || !kept.keep(block) { free(block) }
    }
}

/// Freed blocks of the C library's memory, kept until blocks of their size are wanted again. Any thread; never blocks: while another thread
/// uses them, nothing is kept or found.
package final class KeptBlocks: Sendable {
    /// `@unchecked Sendable`: a block that is kept, or about to be, has no other user.
    private struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
    }

    private struct Shelf {
        var blocks: [Block] = []
        /// Whether a block of this size was ever requested.
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
    /// Blocks of up to this many bytes are never kept.
    static let smallSize = (steps.lowerBound - 1) * step
    /// The same for larger blocks than this.
    static let largestSize = steps.upperBound * step
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

    /// Returns at least `size` uninitialised bytes: a kept block, or a new one that can be kept later. nil for sizes that aren't kept, and
    /// if the C library is out of memory.
    func block(of size: Int) -> UnsafeMutableRawPointer? {
        guard size <= Self.largestSize else { return nil }
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

    /// Takes over a block of any size that is no longer used. False if it has to be freed.
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
