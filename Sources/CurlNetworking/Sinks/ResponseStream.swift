import CurlTransport
import Foundation

/// The body of a response whose data task has become a stream task: kept, within bounds, until the program reads it.
///
/// As a sink, it takes the body; as the port's carrier, it passes it to the readers. Loop only.
final class ResponseStream: Sink {
    private enum Body {
        case incoming
        case complete
        /// No longer read.
        case dropped
    }

    private let port: StreamPort
    private unowned let owner: any ResponseStreamOwner
    private var buffer = BodyBuffer()
    private var body = Body.incoming
    private var isServing = false

    /// - Parameters:
    ///   - pieces: The body so far.
    ///   - isComplete: Whether that is all of it.
    init(_ port: StreamPort, _ owner: any ResponseStreamOwner, pieces: [Data], isComplete: Bool) {
        (self.port, self.owner) = (port, owner)
        for piece in pieces { piece.withUnsafeBytes { _ = buffer.append($0, expected: nil) } }
        if isComplete { body = .complete }
    }

    /// Whether more waits for readers than should.
    var isBehind: Bool { buffer.isAboveHighMark }

    /// Begins to serve reads. The task must have the port.
    func open() {
        port.open(over: self)
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard case .incoming = body else { return }
        if buffer.append(bytes, expected: nil) { owner.setBehind(true) }
        owner.count(Int64(bytes.count), isTold: false)
    }

    func settle() {
        serve()
    }

    func complete() {
        guard case .incoming = body else { return }
        body = .complete
        serve()
    }

    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void) {
        handOver()
        port.fail(.task(error))
        completion(nil)
    }

    /// The body has broken off, and the port is about to fail, which drops the received bytes or leaves them to the reads.
    func handOver() {
        var rest = buffer
        buffer.removeAll()
        body = .dropped
        while let piece = rest.popFirst() { port.received(piece) }
    }

    private func serve() {
        guard !isServing else { return }
        isServing = true
        while port.wantedCount > 0, let piece = buffer.popFirst() {
            port.received(piece)
            if buffer.consumed(piece.count) { owner.setBehind(false) }
        }
        if buffer.isEmpty, case .complete = body { port.receivedEnd() }
        isServing = false
    }
}

extension ResponseStream: StreamCarrier {
    var sockets: (reading: PlainSocket?, writing: PlainSocket?) { (nil, nil) }

    func portChanged() {
        serve()
    }

    /// A response can't be written to.
    func closeWriting() {}

    func begin(_ transition: StreamPort.Queue.Transition) {
        switch transition {
        case .startTLS, .stopTLS:
            let description = "A response that has become a stream has no connection of its own for TLS."
            owner.streamFailed(URLError(.unsupportedURL, url: port.owner?.shownURL, description))
        case .capture:
            let description = "A response that has become a stream has no connection that could be captured."
            owner.streamFailed(URLError(.unsupportedURL, url: port.owner?.shownURL, description))
        }
    }

    /// Transitions fail at once.
    func transitionTimedOut() {}

    /// All of it has been read, or the program wants no more.
    func end() {
        buffer.removeAll()
        body = .dropped
        owner.streamEnded()
    }
}

/// The task whose response is read as a stream. On its loop.
protocol ResponseStreamOwner: SinkOwner {
    /// The task completes now.
    func streamEnded()
    func streamFailed(_ error: URLError)
}
