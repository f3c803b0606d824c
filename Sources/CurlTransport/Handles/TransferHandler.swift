/// A handler's answer to a piece of a body.
package enum ReceiveVerdict: Sendable {
    /// All bytes were taken.
    case accepted
    /// None were taken: libcurl keeps the bytes and reads no more until `EasyHandle.setPaused(false)`. For bodies only.
    case pause
    /// End the transfer; it finishes with `CURLE_WRITE_ERROR`.
    case abort
}

/// A handler's answer when libcurl asks for body bytes to send.
package enum SendVerdict: Sendable {
    /// This many bytes were put into the buffer; 0 ends the body.
    case bytes(Int)
    /// None are available yet; `EasyHandle.setPaused(false)` makes libcurl ask again.
    case pause
    /// End the transfer; it finishes with `CURLE_ABORTED_BY_CALLBACK`.
    case abort
}

/// The receiving end of one transfer's callbacks.
///
/// All methods are called on the loop of the multi that runs the transfer. Those marked "within libcurl" must not call into `Multi` or
/// `EasyHandle`: they record, and act in `transferSettled()`.
package protocol TransferHandler: AnyObject {
    /// Called when the connection is established, TLS included, and the request is about to be sent; `negotiated` is the protocol TLS
    /// agreed on (RFC 7301), nil if unknown. Only if `EasyOptions.reportsConnection`. Within libcurl.
    func transferConnected(negotiated: String?)

    /// Whether the request has its response. After a 417 instead of a 100, libcurl still sends it again. Within libcurl.
    var isAnswered: Bool { get }

    /// Set if the request must not be sent again once bytes of a response have arrived. Within libcurl.
    var responseWatch: ResponseWatch? { get }

    /// One line of a response's head, with its line end; the empty line ends a head. Within libcurl.
    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// One line of a proxy's response to CONNECT, if `ProxyUse.tunnel` is set. Within libcurl.
    func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// A piece of the body, at most 16 KiB, not yet decoded (RFC 9110 §8.4). Within libcurl.
    func transferReceived(body: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Asks for the next bytes of the request's body. Within libcurl.
    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict

    /// Whether libcurl waits for the request's body, which has nothing to send at the moment, and all received bytes were taken. Within
    /// libcurl.
    var isStarved: Bool { get }

    /// Called when the connection has ended while `isStarved`, and libcurl, which has read all it wants, doesn't notice. Outside of
    /// libcurl.
    func transferLostConnection()

    /// The length of the request's body, once all of it was asked for; nil before. Within or outside of libcurl.
    var wholeBodyLength: Int64? { get }

    /// Asks to restart the request's body at `offset`, before it is sent again; false if that can't be done. Within libcurl.
    func transferRewindsBody(to offset: Int64) -> Bool

    /// Called once after each series of calls above, outside of libcurl.
    func transferSettled()

    /// The last call: the transfer is over and out of the multi; its handle's `statistics` remain available until this returns. Outside of
    /// libcurl.
    func transferFinished(_ failure: TransferFailure?)
}

extension TransferHandler {
    package func transferConnected(negotiated: String?) {}
    package var isAnswered: Bool { false }
    package var isStarved: Bool { false }
    package func transferLostConnection() {}
    package var wholeBodyLength: Int64? { nil }
    package var responseWatch: ResponseWatch? { nil }
    package func transferReceived(tunnelHeaderLine: UnsafeRawBufferPointer) -> ReceiveVerdict { .accepted }
}
