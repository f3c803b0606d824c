import Foundation

extension Data {
    /// The bytes that `fill` writes into memory for `capacity` of them; it returns how many.
    ///
    /// They aren't copied, unless that would keep much more memory than there are bytes.
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
            // Of the slice itself it would take three times as long.
            return Data(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
    }
}
