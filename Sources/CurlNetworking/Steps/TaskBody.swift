import CurlTransport
import Foundation

/// The body of a task's requests.
struct TaskBody: Sendable {
    enum Source: Sendable {
        /// The request's own, if it has any.
        case request
        case data(Data)
        case file(URL)
        /// The request's stream, or one that the delegate is asked for.
        case stream
    }

    let source: Source
    private let originalRequest: URLRequest?

    init(_ source: Source, of request: URLRequest?) {
        self.source = source
        originalRequest = request
    }

    /// Whether it is an upload task's.
    var isUpload: Bool {
        if case .request = source { false } else { true }
    }

    /// An upload task's data or file replaces a stream of its request.
    var isStream: Bool {
        switch source {
        case .stream: true
        case .request: originalRequest?.httpBodyStream != nil
        case .data, .file: false
        }
    }

    /// Whether the delegate is asked for the first stream too.
    var isStreamedUpload: Bool {
        if case .stream = source { true } else { false }
    }

    /// Whether it is the stream of the task's original request.
    func hasBegunWith(_ stream: InputStream) -> Bool { originalRequest?.httpBodyStream === stream }

    /// An upload task's file.
    var file: URL? {
        if case .file(let url) = source { url } else { nil }
    }

    var isInRequest: Bool {
        if case .request = source { true } else { false }
    }

    /// The length of the first request's body, in bytes, as far as known before it is made; 0 for none.
    var expectedLength: Int64 {
        switch source {
        case .data(let data):
            return Int64(data.count)
        case .file(let url):
            return UploadedFile(url)?.length ?? NSURLSessionTransferSizeUnknown
        case .stream:
            return originalRequest.flatMap(Self.announcedLength) ?? NSURLSessionTransferSizeUnknown
        case .request:
            guard let originalRequest else { return 0 }
            if let data = originalRequest.httpBody { return Int64(data.count) }
            guard originalRequest.httpBodyStream != nil else { return 0 }
            return Self.announcedLength(of: originalRequest) ?? NSURLSessionTransferSizeUnknown
        }
    }

    /// The length that the request states for its stream; nil if invalid.
    static func announcedLength(of request: URLRequest) -> Int64? {
        request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    /// `request` with the body as a protocol class expects it.
    func added(to request: URLRequest) -> URLRequest {
        var request = request
        switch source {
        case .data(let data): request.httpBody = data
        case .file(let url): request.httpBodyStream = InputStream(url: url)
        case .request, .stream: break
        }
        return request
    }

    /// Whether `request` still has the body: a redirect that turned a POST into a GET has dropped it. A delegate may have chosen another
    /// method.
    func isKept(by request: URLRequest?, after redirects: RedirectStep) -> Bool {
        guard redirects.count > 0 else { return true }
        let method = request?.httpMethod ?? "GET"
        guard redirects.hasLeftBody else {
            return method == originalRequest?.httpMethod || !["GET", "HEAD"].contains(method)
        }
        // Then only a delegate chooses another method, perhaps with its own body.
        return !["GET", "HEAD"].contains(method) && request?.httpBody == nil && request?.httpBodyStream == nil
    }

    /// Whether `request`, which is to send this `part`, is about an upload's own body, even if the server has all of it.
    func isUsed(_ part: BodyPart, with request: URLRequest, after redirects: RedirectStep) -> Bool {
        switch part {
        case .whole: isKept(by: request, after: redirects)
        case .none: false
        case .rest: true
        }
    }

    /// The body of the next request, which sends this `part`; nil for none. `stream` is the one that `BodyStreamStep` has found, `file` the
    /// one that `BodyFileStep` has opened; `wake` makes the body's transfer continue when bytes are available again, and may be called on
    /// any thread.
    func make(
        _ part: BodyPart,
        for request: URLRequest,
        _ stream: InputStream?,
        _ file: ReadableFile?,
        after redirects: RedirectStep,
        wake: @autoclosure () -> @Sendable () -> Void
    ) throws(URLError) -> (any RequestBody)? {
        if let rest = part.rest { return try makeRest(rest, for: request, stream, file, wake: wake) }
        if case .none = part { return nil }
        if let stream {
            let length = Self.announcedLength(of: request)
            return StreamedBody(stream, length: length, url: request.url, becameReadable: wake())
        }
        if let file { return FileBody(file, for: request.url, becameReadable: wake()) }
        switch source {
        case .data(let data) where isKept(by: request, after: redirects): return DataBody(data)
        case .request, .data, .file, .stream: break
        }
        let method = request.httpMethod ?? "GET"
        // The stock module doesn't send the length of a GET's or HEAD's empty body either.
        if let data = request.httpBody, !data.isEmpty || !["GET", "HEAD"].contains(method) { return DataBody(data) }
        // Methods that imply a body send the length of an empty one (RFC 9110 §8.6).
        return ["POST", "PUT", "PATCH"].contains(method) ? DataBody(Data()) : nil
    }

    private func makeRest(
        _ rest: UploadRest,
        for request: URLRequest,
        _ stream: InputStream?,
        _ file: ReadableFile?,
        wake: () -> @Sendable () -> Void
    ) throws(URLError) -> (any RequestBody)? {
        if rest.length == 0 { return DataBody(Data()) }
        if let stream {
            let length = rest.total.map { $0 - rest.offset }
            let body = StreamedBody(stream, length: length, url: request.url, becameReadable: wake())
            return rest.isLast ? body : RemainingBody(body, from: 0, length: rest.length)
        }
        let whole: any RequestBody
        switch (source, file) {
        case (.data(let data), _): whole = DataBody(data)
        case (.file, let file?): whole = FileBody(file, for: request.url, becameReadable: wake())
        case (.request, _), (.stream, _), (.file, nil): return nil
        }
        guard let remainder = RemainingBody(whole, from: rest.offset, length: rest.length) else {
            whole.close()
            throw URLError(
                .cannotOpenFile,
                url: request.url,
                "The upload's body is shorter than what the server has of it."
            )
        }
        return remainder
    }
}

/// Which part of a task's body a request sends.
enum BodyPart: Equatable {
    case whole
    case none
    case rest(UploadRest)

    var rest: UploadRest? {
        if case .rest(let rest) = self { rest } else { nil }
    }
}
