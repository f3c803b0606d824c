import Foundation

extension ContiguousBytes {
    /// `withUnsafeBytes` for a body that throws errors of one type: the standard method would turn them into `any Error`.
    func withBytes<Success, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        try withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
    }
}
