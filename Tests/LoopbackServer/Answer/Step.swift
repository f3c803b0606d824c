import Foundation

extension LoopbackServer {
    /// One thing the server does in answer to a request. A response is a list of them.
    package enum Step: Sendable {
        /// Sends these bytes, as they are.
        case bytes(Data)
        /// Sends a body, without holding it in memory.
        case body(Body)
        /// Sends a body as chunks of `size` bytes, without the last chunk.
        case chunks(Body, size: Int64)

        /// Sends nothing for a while.
        case pause(Duration)
        /// Sends nothing until someone opens the gate.
        case waitFor(Gate)
        /// Opens a gate: tells a test that the server has got this far.
        case open(Gate)
        /// Sends nothing until the request's body has arrived. For servers that answer at the head.
        case waitForBody
        /// Waits until this many bytes of the request's body have arrived, or all of it (nil), and continues with the steps returned for
        /// the request as it is then. Also asked if the client cuts the body off; its steps then have no effect. For servers that answer at
        /// the head.
        case receive(upTo: Int64?, @Sendable (Request) -> [Step])
        /// Sends what follows at this rate at most; nil for as fast as the client takes it.
        case throttle(bytesPerSecond: Int?)

        /// Leaves what the client sends in the kernel's buffers, so that the client eventually blocks.
        case stopReading
        case resumeReading

        /// Ends HTTP on this connection, as after `101 Switching Protocols`: what the client sends from here on goes to
        /// the conversation.
        case converse(Conversation)

        /// Closes the connection: FIN after everything that was sent.
        case close
        /// Resets the connection: RST as soon as the client's kernel has everything that was sent.
        case reset
        /// Sends nothing more and keeps the connection open, until the client or the server closes it.
        case never

        package static func bytes(_ text: String) -> Step { .bytes(Data(text.utf8)) }
    }
}

extension LoopbackServer.Step {
    /// The bytes it sends, if that's all it does.
    var payload: LoopbackServer.Body? {
        switch self {
        case .bytes(let data): .data(data)
        case .body(let body): body
        default: nil
        }
    }
}
