/// What a handler answers to a piece of a body.
package enum ReceiveVerdict: Sendable {
    /// The bytes were taken, all of them.
    case accepted
    /// Nothing was taken: libcurl keeps the bytes and reads no more until `EasyHandle.setPaused(false)`. For bodies
    /// only.
    case pause
    /// End the transfer; it finishes with `CURLE_WRITE_ERROR`.
    case abort
}

/// What a handler answers when libcurl asks for body bytes to send.
package enum SendVerdict: Sendable {
    /// So many bytes were put into the buffer; 0 ends the body.
    case bytes(Int)
    /// There are none just now; `EasyHandle.setPaused(false)` makes libcurl ask again.
    case pause
    /// End the transfer; it finishes with `CURLE_ABORTED_BY_CALLBACK`.
    case abort
}

/// The other side of one transfer.
///
/// All methods are called on the loop of the multi that runs the transfer. Those named "within libcurl" must not call
/// into `Multi` or `EasyHandle`: they record, and act in `transferSettled()`.
package protocol TransferHandler: AnyObject {
    /// The connection stands, TLS included, and the request is about to be sent; `negotiated` is what TLS has agreed on (RFC 7301), nil
    /// where that isn't known. For transfers that asked for it: `EasyOptions.reportsConnection`. Within libcurl.
    func transferConnected(negotiated: String?)

    /// One line of a response's head, with its line end; the empty line ends a head. Within libcurl.
    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// The same for what a proxy says to a request for a tunnel, where `TransferOptions.usesTunnel` is set. Within libcurl.
    func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// A piece of the body, at most 16 KiB, in the codings it came in (RFC 9110 §8.4). Within libcurl.
    func transferReceived(body: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Asks for the next bytes of the request's body. Within libcurl.
    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict

    /// Asks to start the request's body again at `offset`, before it is sent anew; false where that can't be done.
    /// Within libcurl.
    func transferRewindsBody(to offset: Int64) -> Bool

    /// Called once after each series of calls above, outside of libcurl.
    func transferSettled()

    /// The last call: the transfer is over and out of the multi; its handle's `statistics` are there until this returns.
    /// Outside of libcurl.
    func transferFinished(_ failure: TransferFailure?)
}

extension TransferHandler {
    package func transferConnected(negotiated: String?) {}
    package func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict { .accepted }
}
