import Curl
import Foundation

// The body of a task's requests: found before each exchange, and again for one that follows it. Everything on the loop, but for
// what says otherwise.

extension TaskRunner {
    var sendsStream: Bool {
        if case .stream = bodySource { true } else { originalRequest?.httpBodyStream != nil }
    }

    // MARK: - Finding a stream

    /// The request's own stream serves the first exchange. Every other one is the delegate's, and of a streamed upload the first
    /// as well; there the request's own is what remains where the delegate has none.
    func prepareBodyStream() {
        let request = shared.withLock { $0.currentRequest }
        guard sendsStream, keepsBody(request) else { return prepared() }
        if case .request = bodySource, let stream = unspentStream(of: request) { return use(stream, for: request) }
        loading.preparation = .underway
        post(.needsBodyStream)
    }

    private func unspentStream(of request: URLRequest?) -> InputStream? {
        loading.hasSpentStream || loading.redirectCount > 0 ? nil : request?.httpBodyStream
    }

    /// The delegate's answer; any thread, and only the first counts.
    func bodyStreamArrived(_ stream: InputStream?) {
        nonisolated(unsafe) let stream = stream
        submit {
            guard case .underway = self.loading.preparation, self.resumption == nil, self.loading.bodyStream == nil
            else {
                return
            }
            if let load = self.loading.load as? ProtocolLoad { return self.begin(load, with: stream) }
            let request = self.shared.withLock { $0.currentRequest }
            // The same one again would send nothing, and that as the body.
            guard let stream = stream ?? self.unspentStream(of: request), stream !== self.loading.spentStream,
                ![.atEnd, .closed, .error].contains(stream.streamStatus)
            else {
                let description = "There is no stream with the request's body, or none that has not been read from."
                return self.finish(.failure(URLError(.requestBodyStreamExhausted, request?.url, description)))
            }
            self.use(stream, for: request)
        }
    }

    private func use(_ stream: InputStream, for request: URLRequest?) {
        loading.bodyStream = stream
        guard request.flatMap(Self.announcedLength) == 0 else { return prepared() }
        // libcurl reads nothing of such a body: that there is nothing must be found before.
        loading.preparation = .underway
        StreamedBody.findEnd(of: stream, url: request?.url) { error in
            self.submit {
                guard self.isUnfinished else { return }
                error.map { self.finish(.failure($0)) } ?? self.prepared()
            }
        }
    }

    // MARK: - Making a body

    /// nil where the request has none: a redirect that turned a POST into a GET has left the body behind.
    func makeBody(for request: URLRequest) throws(URLError) -> (any RequestBody)? {
        if let stream = loading.bodyStream.take() {
            loading.spentStream = stream
            return makeBody(from: stream, for: request)
        }
        switch bodySource {
        case .data(let data) where keepsBody(request): return DataBody(data)
        case .file(let url) where keepsBody(request): return try FileBody(url, for: request.url)
        case .request, .data, .file, .stream: break
        }
        if let data = request.httpBody { return DataBody(data) }
        // Methods that mean a body send the length of an empty one (RFC 9110 §8.6).
        return ["POST", "PUT", "PATCH"].contains(request.httpMethod ?? "") ? DataBody(Data()) : nil
    }

    private func keepsBody(_ request: URLRequest?) -> Bool {
        loading.redirectCount == 0
            || (!loading.hasLeftBody && request?.httpMethod == originalRequest?.httpMethod)
    }

    private func makeBody(from stream: InputStream, for request: URLRequest) -> StreamedBody {
        let length = Self.announcedLength(of: request)
        let loop = lane.loop
        let wake = ExchangeWaker(runner: self)
        return StreamedBody(stream, length: length, url: request.url) { loop.submit(wake) }
    }

    /// What the request says of its stream's length; nil where that is nothing that makes sense.
    static func announcedLength(of request: URLRequest) -> Int64? {
        request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    // MARK: - Sending it again

    /// True when the exchange has lost a kept connection that was dead already, and another one follows it on a new connection.
    /// libcurl does the same by itself until the body has begun, and later where that can be started over.
    func sendsAgain(after exchange: Exchange) -> Bool {
        let wasRepeated = exchange.wasGivenUp ? loading.needsOwnConnection : loading.avoidsKeptConnections
        guard exchange.hasLostKeptConnection, !wasRepeated, loading.budget.spendReplay() else { return false }
        loading.avoidsKeptConnections = true
        if exchange.wasGivenUp { loading.needsOwnConnection = true }
        follow(exchange.request)
        return true
    }
}

/// Tells a task's exchange, if there still is one, that its body can be read again.
private final class ExchangeWaker: LoopWork, @unchecked Sendable {
    // @unchecked: never changes but to nil.
    private weak var runner: TaskRunner?

    init(runner: TaskRunner) {
        self.runner = runner
    }

    func run(on loop: EventLoop) {
        // A task that has moved has left that body behind.
        guard let runner, runner.isAtHome(on: loop) else { return }
        runner.loading.exchange?.bodyBecameReadable()
        runner.loading.load?.bodyBecameReadable()
    }
}
