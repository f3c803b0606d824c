/// The memory into which libcurl reads a response, for one request.
///
/// libcurl fills up to 101 of them before it returns to the event loop, and a transfer can only be paused after that: so a body that
/// is consumed as it arrives goes through a small one.
package enum ReceiveBuffer {
    /// In bytes.
    package static let small = 16 * 1024
    /// In bytes, for `CurlQuirks.forgetsHTTP2Input`: it holds all that libcurl reads from an HTTP/2 connection at once, and the largest
    /// head that it accepts. If a head that another transfer has read doesn't fit, libcurl (7.88) loses its beginning.
    package static let multiplexed = 128 * 1024
    /// In bytes. Saves system calls.
    package static let large = 256 * 1024
}
