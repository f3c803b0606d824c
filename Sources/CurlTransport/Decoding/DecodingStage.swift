/// Decodes one coding. One thread at a time.
protocol DecodingStage: AnyObject {
    /// Decodes from the start of `input` into `output`, which has room for at least 64 bytes, and tells how many bytes of each it used.
    /// It stops at the end of either. What follows the end of the coded data is taken and dropped, as gzip(1) and browsers do. `input` may
    /// be empty: then it only hands over what it had no room for.
    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFailure) -> (consumed: Int, produced: Int)

    /// The coded data may end here.
    var isComplete: Bool { get }
}

/// What a library says of data that it can't decode.
package struct DecodingFailure: Error {
    package let text: String

    init(_ text: String) {
        self.text = text
    }

    init(_ text: UnsafePointer<CChar>?, default other: String) {
        self.text = text.map { String(cString: $0) } ?? other
    }
}
