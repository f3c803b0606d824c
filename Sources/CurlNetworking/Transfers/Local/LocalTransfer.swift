import CurlTransport
import Foundation

/// A local resource that is read like a response. Called on one thread at a time, in this order; `close()` always comes last.
protocol LocalSource: AnyObject {
    func open() throws(URLError) -> URLResponse
    /// The next piece; nil at the end.
    func read() throws(URLError) -> Data?
    func close()
}

/// Loads a `LocalSource` off the loop, since it may block. The next piece is read when the previous one has been taken.
///
/// `@unchecked Sendable`: everything is touched only on the loop, except `content`, which a thread has while `state` says so.
final class LocalTransfer: Transfer, @unchecked Sendable {
    private enum State {
        case idle
        /// A thread has `content`.
        case reading
        /// Found while the transfer was paused.
        case found(Found)
        case closed
    }

    private enum Found {
        case response(Result<URLResponse, URLError>)
        case piece(Result<Data?, URLError>)
    }

    private let content: any LocalSource
    private let loop: EventLoop
    private weak var delegate: (any TransferDelegate)?
    private(set) var isPaused = false
    private var state = State.idle

    var source: HopMetrics.Source { .other }

    /// `request` has a file or data URL.
    convenience init(_ request: URLRequest, loop: EventLoop, delegate: any TransferDelegate) throws(URLError) {
        let url = try request.requiredURL
        self.init(Scheme(url) == .file ? FileSource(url) : DataSource(url), loop: loop, delegate: delegate)
    }

    init(_ source: any LocalSource, loop: EventLoop, delegate: any TransferDelegate) {
        content = source
        self.loop = loop
        self.delegate = delegate
    }

    func start() {
        state = .reading
        WorkThreads.namedFiles.run { [self] in
            let opened = Result { () throws(URLError) in try content.open() }
            loop.submit { self.take(.response(opened)) }
        }
    }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if !isPaused, case .found(let found) = state { take(found) } else { readNext() }
    }

    func cancel() {
        delegate = nil
        switch state {
        case .idle, .found: close()
        case .reading, .closed: break
        }
    }

    private func close() {
        state = .closed
        WorkThreads.namedFiles.run { self.content.close() }
    }

    /// Reports what was found, once the transfer isn't paused.
    private func take(_ found: Found) {
        guard let delegate else { return close() }
        guard !isPaused else { return state = .found(found) }
        state = .idle
        switch found {
        case .response(let response): opened(response, delegate)
        case .piece(let piece): read(piece, delegate)
        }
    }

    private func opened(_ result: Result<URLResponse, URLError>, _ delegate: any TransferDelegate) {
        do throws(URLError) {
            try delegate.transfer(self, received: try result.get(), storagePolicy: .notAllowed)
        } catch {
            return end(error)
        }
        readNext()
    }

    private func readNext() {
        guard delegate != nil, !isPaused, case .idle = state else { return }
        state = .reading
        WorkThreads.namedFiles.run { [self] in
            let piece = Result { () throws(URLError) in try content.read() }
            loop.submit { self.take(.piece(piece)) }
        }
    }

    private func read(_ result: Result<Data?, URLError>, _ delegate: any TransferDelegate) {
        switch result {
        case .success(let piece?): if delegate.transfer(self, received: piece) { readNext() }
        case .success(nil): end(nil)
        case .failure(let error): end(error)
        }
    }

    private func end(_ error: URLError?) {
        guard let delegate else { return }
        cancel()
        delegate.transferFinished(self, TransferEnding(error))
    }
}

/// The content of a `data:` URL (RFC 2397).
final class DataSource: LocalSource {
    private let url: URL
    private var content: Data?

    init(_ url: URL) {
        self.url = url
    }

    func open() throws(URLError) -> URLResponse {
        let decoded = try DataURL(url)
        content = decoded.content
        return URLResponse(
            url: url,
            mimeType: decoded.mimeType,
            expectedContentLength: decoded.content.count,
            textEncodingName: decoded.charset
        )
    }

    func read() -> Data? {
        defer { content = nil }
        return content.flatMap { $0.isEmpty ? nil : $0 }
    }

    func close() {
        content = nil
    }
}
