import CCurlNetworkingLinux
import Glibc
import Testing

@testable import CurlTransport

@Suite("Memory that is kept for libcurl")
struct KeptBlocksTests {
    @Test("A block that was freed is the next of its size", arguments: [1200, 5360, 16_385, 20_480])
    func reuse(size: Int) throws {
        let blocks = KeptBlocks(limit: 1 << 20)
        let block = try #require(blocks.block(of: size))
        memset(block, 0xFF, size)
        #expect(blocks.keep(block))
        #expect(blocks.total >= size && blocks.total < size + 256)
        let other = try #require(blocks.block(of: 2000))
        #expect(other != block)
        #expect(blocks.block(of: size) == block)
        #expect(blocks.total == 0)
        for block in [block, other] { free(block) }
    }

    @Test("The memory suffices, whatever size is asked for, and wherever the block is from")
    func sizes() throws {
        for size in 1000...21_000 {
            let blocks = KeptBlocks(limit: 1 << 20)
            guard let wanted = blocks.block(of: size) else { continue }
            #expect(blocks.keep(wanted))
            // As `realloc` may leave it.
            let odd = try #require(malloc(size + size % 300))
            if !blocks.keep(odd) { free(odd) }
            let first = try #require(blocks.block(of: size))
            let second = try #require(blocks.block(of: size))
            for block in [first, second] {
                #expect(malloc_usable_size(block) >= size)
                free(block)
            }
        }
    }

    @Test("Small and large blocks are left to the C library", arguments: [0, 1, 1024, 20_481, Int.max])
    func others(size: Int) {
        #expect(KeptBlocks(limit: 1 << 20).block(of: size) == nil)
    }

    @Test("No more is kept than the limit, nor a size that isn't wanted, nor many of one")
    func limits() throws {
        let blocks = KeptBlocks(limit: 20_000)
        let unwanted = try #require(malloc(5000))
        #expect(!blocks.keep(unwanted))
        free(unwanted)
        let many = try (0..<5).map { _ in try #require(blocks.block(of: 5000)) }
        let areKept = many.map(blocks.keep)
        #expect(areKept == [true, true, true, false, false])
        many.suffix(2).forEach { free($0) }
        let small = KeptBlocks(limit: 1 << 30)
        let hundred = try (0..<100).map { _ in try #require(small.block(of: 1500)) }
        let rest = hundred.filter { !small.keep($0) }
        #expect(rest.count == 36)
        rest.forEach { free($0) }
    }

    @Test("A block that libcurl wants zeroed is, whatever its memory was used for before")
    func zeroed() throws {
        for size in [1, 24, 1024, 1025, 5360, 20_480, 20_481, 300_000] {
            let used = try #require(CurlMemory.allocate(size))
            memset(used, 0xFF, size)
            CurlMemory.release(used)
            let block = try #require(CurlMemory.allocateZeroed(size, 1))
            #expect(UnsafeRawBufferPointer(start: block, count: size).allSatisfy { $0 == 0 })
            CurlMemory.release(block)
        }
    }

    @Test("libcurl gets no block for a product that no size can hold", arguments: [(-1, -8), (.min, 2), (1 << 62, 4)])
    func overflow(count: Int, size: Int) {
        #expect(CurlMemory.allocateZeroed(count, size) == nil)
    }

    @Test("From many threads, no block is two threads' at once")
    func threads() async {
        let blocks = KeptBlocks(limit: 1 << 20)
        await withTaskGroup(of: Int.self) { group in
            for number in 1...8 {
                group.addTask {
                    var mistakes = 0
                    for round in 0..<5000 {
                        let size = 1500 + round % 3 * 1000
                        guard let block = blocks.block(of: size) else { return 1 }
                        memset(block, Int32(number), size)
                        let bytes = UnsafeRawBufferPointer(start: block, count: size)
                        if bytes[0] != number || bytes[size - 1] != number || bytes[size / 2] != number {
                            mistakes += 1
                        }
                        if !blocks.keep(block) { free(block) }
                    }
                    return mistakes
                }
            }
            let mistakes = await group.reduce(0, +)
            #expect(mistakes == 0)
        }
    }
}
