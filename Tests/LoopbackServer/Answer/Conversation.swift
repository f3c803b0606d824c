import Foundation

extension LoopbackServer {
    /// What happens on a connection that speaks something other than HTTP.
    package enum StreamEvent: Sendable {
        /// The conversation begins.
        case opened
        /// The client has sent these bytes. Where one piece ends and the next begins has no meaning.
        case received(Data)
        /// The client has sent FIN. Only with `Options.allowsHalfClose`; otherwise its FIN ends the connection. When the
        /// steps returned for it are done, the connection is closed.
        case finished
    }

    /// Says what to do when something happens on a connection that speaks something other than HTTP. Called on the
    /// server's loop, for one connection; the steps are performed after those that are still to be done.
    package typealias Conversation = @Sendable (StreamEvent) -> [Step]

    /// What a server does with its connections.
    enum Service: Sendable {
        case http(Answering, Handler)
        /// Begins the conversation on the connection with this number.
        case stream(@Sendable (Int) -> Conversation)
    }
}
