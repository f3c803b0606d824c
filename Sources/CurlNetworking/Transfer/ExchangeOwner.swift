import Foundation

/// Who runs an exchange. All calls come on the loop.
protocol ExchangeOwner: AnyObject {
    /// The response's head is complete: where does its body go? Throws to end the exchange. Within libcurl.
    func exchange(_ exchange: Exchange, received head: ResponseHead) throws(URLError) -> Exchange.BodyRoute

    /// An informational response has come; its end is none of the exchange's. Within libcurl.
    func exchange(_ exchange: Exchange, receivedInformational head: ResponseHead)

    /// The next bytes of the body, decoded; throws where they can't be kept. Within libcurl, or outside of it.
    func exchange(_ exchange: Exchange, received body: UnsafeRawBufferPointer) throws(URLError)

    /// Whether more of the response's body may be handed over now; asked where the exchange can stop amid what has come.
    func exchangeMayDeliver(_ exchange: Exchange) -> Bool

    /// All of the response has come, and some of it has yet to be decoded: the connection is free. Outside of libcurl.
    func exchangeLeftConnection(_ exchange: Exchange)

    /// Whether body bytes may be sent now. Within libcurl.
    func exchangeMaySend(_ exchange: Exchange) -> Bool

    /// So many bytes of the request's body were handed to libcurl, in all. Within libcurl.
    func exchange(_ exchange: Exchange, sent totalBytes: Int64)

    /// Sending has paused because `exchangeMaySend` said no, and with it the whole exchange. Outside of libcurl.
    func exchangePaused(_ exchange: Exchange)

    /// Called once after each series of the calls above, outside of libcurl.
    func exchangeSettled(_ exchange: Exchange)

    /// The exchange is over. Outside of libcurl.
    func exchangeFinished(_ exchange: Exchange, _ error: URLError?)
}
