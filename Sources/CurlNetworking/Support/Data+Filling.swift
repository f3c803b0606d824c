import Foundation

extension Data {
    /// The bytes that `fill` writes into memory for `capacity` bytes; `fill` returns their number.
    ///
    /// They are copied only if that saves much memory.
    static func filled<Failure>(
        upTo capacity: Int,
        by fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Data {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
        let count: Int
        do throws(Failure) {
            count = try fill(buffer)
        } catch {
            buffer.deallocate()
            throw error
        }
        guard let start = buffer.baseAddress, count > capacity / 2 else {
            defer { buffer.deallocate() }
            // Copying the slice itself would take three times as long.
            return Data(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
    }
}
