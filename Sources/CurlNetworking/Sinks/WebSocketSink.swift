/// A web socket's messages don't come this way, and nobody reads the body of an answer that opens none.
final class WebSocketSink: Sink {
    func receive(_ bytes: UnsafeRawBufferPointer) {}
}
