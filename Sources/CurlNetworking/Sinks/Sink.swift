import Foundation

/// Where the body of a task's response goes. Loop only.
protocol Sink: AnyObject {
    /// The size of libcurl's receive buffer that suits it, in bytes; nil to choose by the bodies that the origin has sent so far.
    var bufferSize: Int? { get }

    /// Prepares for the body that follows `response`.
    func makeRoom(for response: AcceptedResponse) throws(URLError)

    /// The task now shows the response: passes it to receivers that take it before its body.
    func begin(_ response: AcceptedResponse)

    /// Takes the next bytes, decoded. Called within libcurl or outside.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError)

    /// Called after each series of bytes, outside of libcurl.
    func settle()

    /// The body is complete. Called once, before `finish()`.
    func complete()

    /// Calls `completion` with the result, at once or later on the loop. The last call, unless `abandon` comes before the result, or the
    /// result is a failure.
    func finish(_ completion: @escaping @Sendable (Outcome) -> Void)

    /// The task has failed or was cancelled. Calls `completion`, at once or later on the loop, with resume data, if there is any and it
    /// `isKept`. The last call.
    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void)

    /// The whole body, for the cache; nil if the sink doesn't have it.
    var wholeBody: Data? { get }

    /// The response whose body it gets, for a sink that replaces this one; nil for one that is never replaced.
    var accepted: AcceptedResponse? { get }

    /// Whether the task can't succeed without a response.
    var needsResponse: Bool { get }
}

extension Sink {
    var bufferSize: Int? { nil }
    func makeRoom(for response: AcceptedResponse) throws(URLError) {}
    func begin(_ response: AcceptedResponse) {}
    func settle() {}
    func complete() {}
    func finish(_ completion: @escaping @Sendable (Outcome) -> Void) { completion(.delivered) }
    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void) {
        completion(nil)
    }
    var wholeBody: Data? { nil }
    var accepted: AcceptedResponse? { nil }
    var needsResponse: Bool { true }
}

/// A response that is the task's own, and the body that follows.
struct AcceptedResponse {
    let response: TaskResponse
    /// nil if the response didn't come from a server.
    let head: ResponseHead?
    let request: URLRequest?
    /// How much of the body is already there, in bytes.
    var offset: Int64 = 0
    /// The whole body's length, in bytes, or `NSURLSessionTransferSizeUnknown`.
    var expected: Int64
    var storagePolicy = URLCache.StoragePolicy.allowed
}

/// A sink's task. On the loop, unless noted otherwise.
protocol SinkOwner: AnyObject, Sendable {
    /// Asks the delegate about the response before it gets the body, which `sink` divides if the delegate allows it; nil for one that isn't
    /// divided.
    func ask(about response: TaskResponse, dividing sink: DelegateSink?)

    /// Counts `bytes` of the body that aren't delivered piece by piece; a download's delegate `isTold` the total.
    func count(_ bytes: Int64, isTold: Bool)

    /// None of the body counts any more: it starts over. The next progress that a download's delegate is told of counts as new from its
    /// first byte.
    func startedOver()

    /// Counts bytes of the body and delivers them to the delegate, which sets the transfer's pace.
    func deliver(_ bytes: UnsafeRawBufferPointer)

    /// Whether a delegate that was passed to an async call gets a copy of the body.
    var wantsCopy: Bool { get }

    /// Delivers bytes that have been counted, or will be, to the delegate, which sets the transfer's pace.
    func deliver(counted bytes: UnsafeRawBufferPointer)

    /// Begins another part of the body, to which later bytes belong.
    func beginPart(_ head: PartHead) throws(URLError)

    /// Counts bytes that the reader gets.
    func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream)

    /// Runs `action` once the response may be shown, which is when its cookies are stored.
    func whenShown(_ action: @escaping () -> Void)

    /// More waits in the sink than should, or no longer: that sets the transfer's pace.
    func setBehind(_ isBehind: Bool)

    /// What the sink was given is lost, and the task with it.
    func sinkFailed(_ error: URLError)

    /// Runs `body` on the task's loop. Any thread.
    func submit(_ body: @escaping @Sendable () -> Void)
}

extension Consumer {
    /// The sink for the body that the consumer gets. See `DelegateSink.init` for `dividesParts`.
    func makeSink(_ owner: any SinkOwner, dividesParts: Bool, makeFileSink: () -> FileSink) -> any Sink {
        switch self {
        case .delegate: DelegateSink(owner, dividesParts: dividesParts)
        case .bytes(let stream): ReaderSink(stream, owner)
        case .stream(let port): StreamSink(port)
        case .downloadDelegate, .fileHandler, .file: makeFileSink()
        case .webSocket: WebSocketSink()
        case .dataHandler, .data, .informed: MemorySink(owner)
        }
    }
}
