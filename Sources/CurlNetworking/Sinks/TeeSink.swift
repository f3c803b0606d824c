import Foundation

/// Passes a body on, and keeps a copy of it for the cache as long as that is no larger than `limit`.
final class TeeSink: Sink {
    /// Where the body goes.
    let sink: any Sink
    private var copy: Data? = Data()
    private let limit: Int
    private let exceeded: () -> Void

    /// `limit` is in bytes. `exceeded` is called once, within libcurl, if the body turns out to be larger.
    init(_ sink: any Sink, limit: Int, exceeded: @escaping () -> Void) {
        self.sink = sink
        self.limit = limit
        self.exceeded = exceeded
    }

    var bufferSize: Int? { sink.bufferSize }

    func makeRoom(for response: AcceptedResponse) throws(URLError) { try sink.makeRoom(for: response) }
    func begin(_ response: AcceptedResponse) { sink.begin(response) }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        if let count = copy?.count {
            if count + bytes.count <= limit {
                copy?.append(contentsOf: bytes)
            } else {
                copy = nil
                exceeded()
            }
        }
        try sink.receive(bytes)
    }

    func settle() { sink.settle() }
    func complete() { sink.complete() }
    func finish(_ completion: @escaping @Sendable (Outcome) -> Void) { sink.finish(completion) }
    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void) {
        sink.abandon(after: error, isKept: isKept, completion)
    }
    var wholeBody: Data? { copy }
    var accepted: AcceptedResponse? { sink.accepted }
}
