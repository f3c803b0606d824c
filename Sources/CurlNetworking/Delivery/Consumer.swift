import Foundation

/// Who gets what comes out of a task. Three kinds, one engine.
enum Consumer: Sendable {
    /// The delegate, message by message, on the delegate queue.
    case delegate
    /// A handler on the delegate queue, with everything at once.
    case dataHandler(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
    case fileHandler(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
    /// A Swift task, resumed from the loop without another hop.
    case data(UnsafeContinuation<(Data, URLResponse), any Error>)
    case file(UnsafeContinuation<(URL, URLResponse), any Error>)
    /// A Swift task that reads as the bytes come.
    case bytes(ByteStream)
}

/// What a task came to.
enum Outcome: Sendable {
    /// The body was handed over as it came.
    case delivered
    case data(Data)
    case file(DownloadedFile)
    case failure(URLError)

    var error: URLError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
