import Foundation

/// Where the body of a task's response goes. Loop only.
protocol Sink: AnyObject {
    /// The size of libcurl's receive buffer that suits it; nil for what suits the bodies that the origin has sent so far.
    var bufferSize: Int? { get }

    /// Makes room for the body that follows `response`.
    func makeRoom(for response: AcceptedResponse) throws(URLError)

    /// The task shows the response: here it goes to those who take it before its body.
    func begin(_ response: AcceptedResponse)

    /// The next bytes, decoded. Within libcurl, or outside of it.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError)

    /// Called after each series of bytes, outside of libcurl.
    func settle()

    /// The body is complete. Called once, before `finish()`.
    func complete()

    /// What has come out. The last call, but for a sink that fails with it.
    func finish() throws(URLError) -> Outcome

    /// The task has failed or was cancelled. Returns what a later download can go on from, where there is something and it `isKept`.
    func abandon(after error: URLError, isKept: Bool) -> Data?

    /// The whole body, for those who store it; nil where the sink doesn't have it.
    var wholeBody: Data? { get }

    /// The body is handed over in parts that are responses of their own.
    var isDivided: Bool { get }

    /// Whether the task can't succeed without a response.
    var needsResponse: Bool { get }
}

extension Sink {
    var bufferSize: Int? { nil }
    func makeRoom(for response: AcceptedResponse) throws(URLError) {}
    func begin(_ response: AcceptedResponse) {}
    func settle() {}
    func complete() {}
    func finish() throws(URLError) -> Outcome { .delivered }
    func abandon(after error: URLError, isKept: Bool) -> Data? { nil }
    var wholeBody: Data? { nil }
    var isDivided: Bool { false }
    var needsResponse: Bool { true }
}

/// A response that is the task's own, and the body that follows.
struct AcceptedResponse {
    let response: URLResponse
    /// nil where the response came from elsewhere than a server.
    let head: ResponseHead?
    let request: URLRequest?
    /// How much of the body is there already, in bytes.
    var offset: Int64 = 0
    /// The length of all of it, in bytes, or `NSURLSessionTransferSizeUnknown`.
    var expected: Int64
    var storagePolicy = URLCache.StoragePolicy.allowed
}

/// What sinks tell their task. On the loop.
protocol SinkOwner: AnyObject {
    /// The delegate is to be asked about the response before it gets the body.
    func ask(about response: URLResponse)

    /// So many bytes of the body have come to where nobody is told of them piece by piece; a download's delegate `isTold` the sum.
    func count(_ bytes: Int64, isTold: Bool)

    /// Counts bytes of the body, and has the delegate get them, whose pace the transfer then keeps.
    func deliver(_ bytes: UnsafeRawBufferPointer)

    /// Whether a delegate that was passed to an async call is to get a copy of the body.
    var wantsCopy: Bool { get }

    /// Has that delegate get the bytes, whose pace the transfer then keeps.
    func deliverCopy(of bytes: UnsafeRawBufferPointer)

    /// The bytes that follow belong to another part of the body.
    func beginPart(_ head: ResponseHead) throws(URLError)

    /// Counts bytes that the reader gets.
    func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream)

    /// Does `action` once the response may be shown: its cookies are stored then.
    func whenShown(_ action: @escaping () -> Void)
}

extension Consumer {
    /// The sink for the body that the consumer gets.
    func makeSink(_ owner: any SinkOwner, makeFileSink: () -> FileSink) -> any Sink {
        switch self {
        case .delegate: DelegateSink(owner)
        case .bytes(let stream): ReaderSink(stream, owner)
        case .stream(let port): StreamSink(port)
        case .downloadDelegate, .fileHandler, .file: makeFileSink()
        case .webSocket: WebSocketSink()
        case .dataHandler, .data, .informed: MemorySink(owner)
        }
    }
}
