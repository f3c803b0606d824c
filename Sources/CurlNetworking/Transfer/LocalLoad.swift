import Curl
import Foundation

/// Something of this machine that is read like a response. On one queue, in this order; `close()` comes last, whatever happened.
protocol LocalSource: AnyObject {
    func open() throws(URLError) -> URLResponse
    /// The next piece; nil at the end.
    func read() throws(URLError) -> Data?
    func close()
}

/// Loads a `LocalSource`, off the loop: it may block. The next piece is read when the last one has been taken.
///
/// `@unchecked Sendable`: `source` is touched on `queue` alone, the rest on the loop alone.
final class LocalLoad: Load, @unchecked Sendable {
    private let queue = DispatchQueue(label: "CurlNetworking.local", target: .global(qos: .utility))
    private let source: any LocalSource
    private let loop: EventLoop
    private var owner: (any LoadOwner)?
    private var isPaused = false
    private var isReading = false

    init(_ source: any LocalSource, loop: EventLoop, owner: any LoadOwner) {
        self.source = source
        self.loop = loop
        self.owner = owner
    }

    func start() {
        isReading = true
        queue.async { [self] in
            let opened = Result { () throws(URLError) in try source.open() }
            loop.submit { self.opened(opened) }
        }
    }

    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        readOn()
    }

    func stop() {
        owner = nil
        queue.async { self.source.close() }
    }

    private func opened(_ result: Result<URLResponse, URLError>) {
        isReading = false
        switch result {
        case .success(let response): owner?.load(self, received: response)
        case .failure(let error): owner?.loadFinished(self, error)
        }
        readOn()
    }

    private func readOn() {
        guard owner != nil, !isPaused, !isReading else { return }
        isReading = true
        queue.async { [self] in
            let piece = Result { () throws(URLError) in try source.read() }
            loop.submit { self.read(piece) }
        }
    }

    private func read(_ result: Result<Data?, URLError>) {
        isReading = false
        switch result {
        case .success(let piece?): owner?.load(self, received: piece)
        case .success(nil): owner?.loadFinished(self, nil)
        case .failure(let error): owner?.loadFinished(self, error)
        }
        readOn()
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
