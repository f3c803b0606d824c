import Foundation

extension Data {
    /// Some bytes that call `body` when they are released.
    package static func calling(_ body: @escaping @Sendable () -> Void) -> Data {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        guard let start = bytes.baseAddress else { return Data() }
        return Data(
            bytesNoCopy: start,
            count: bytes.count,
            deallocator: .custom { start, _ in
                start.deallocate()
                body()
            }
        )
    }
}
