/// Decodes one coding. One thread at a time.
protocol DecodingStage: AnyObject {
    /// Decodes from the start of `input` into `output`, which has room for at least 64 bytes, and returns how many bytes of each it used.
    /// Stops at the end of either. Consumes and drops whatever follows the end of the coded data, as gzip(1) and browsers do. With empty
    /// `input` it only outputs bytes that had no room before.
    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int)

    /// Whether the coded data may end here.
    var isComplete: Bool { get }
}

/// Data that can't be decoded, in the library's words.
package struct DecodingFailure: Error {
    package let text: String

    init(_ text: String) {
        self.text = text
    }

    init(_ text: UnsafePointer<CChar>?, default other: String) {
        self.text = text.map { String(cString: $0) } ?? other
    }
}
