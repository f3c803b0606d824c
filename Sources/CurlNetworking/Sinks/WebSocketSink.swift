/// Drops the body: a web socket's messages don't arrive this way, and the body of a response that opens no web socket isn't delivered.
final class WebSocketSink: Sink {
    func receive(_ bytes: UnsafeRawBufferPointer) {}
}
