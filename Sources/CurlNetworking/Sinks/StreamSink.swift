import Foundation

/// Tells a stream task's readers and writers of its end: there is no response, and so no body.
final class StreamSink: Sink {
    private let port: StreamPort

    init(_ port: StreamPort) {
        self.port = port
    }

    let needsResponse = false

    func receive(_ bytes: UnsafeRawBufferPointer) {}

    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void) {
        port.fail(.task(error))
        completion(nil)
    }
}
