import Foundation

/// How a web socket ends (RFC 6455 §7): events in, actions out.
struct WebSocketCloseHandshake: Equatable {
    enum State: Equatable {
        case open
        /// The program wants to close, and the server hasn't taken everything that has to be sent first.
        case draining
        /// Our close frame has been sent, and the server's is awaited.
        case closing(WebSocketClosing)
        /// Both have been sent, or waiting for the server's is pointless: the server has to close the connection.
        case leaving(Ending)
        case closed(Ending)
    }

    /// How the connection ended.
    enum Ending: Equatable {
        /// The server's close frame arrived; its content, and ours if that was first.
        case closed(WebSocketClosing)
        /// The server violated the protocol, or sent too much.
        case failed(WebSocketViolation)
        /// No close frame arrived: the connection was lost, or the server took too long.
        case lost(sent: WebSocketClosing?)
    }

    enum Event: Equatable {
        /// The program wants to close, and something has to be sent first.
        case closeSoon
        /// The program wants to close, and nothing has to be sent first.
        case close(WebSocketClosing)
        case received(WebSocketClosing)
        case violation(WebSocketViolation)
        /// The program no longer needs the connection, which is closed without waiting for anything.
        case cancelled
        /// The server has closed the connection, or it is lost.
        case connectionEnded
        /// With `afterProgress`, the server has meanwhile taken some of what was to be sent, but not all.
        case timeIsUp(afterProgress: Bool)
    }

    enum Action: Equatable {
        /// Nothing but pongs is sent after that.
        case send(WebSocketClosing)
        /// Limits the wait for the server; an earlier limit no longer applies.
        case wait(Duration)
        /// Close the connection; nothing more happens.
        case finish(Ending)
    }

    private(set) var state = State.open
    /// How long the server may take to answer our close frame and, before it has that, to take anything.
    let closeTimeout: Duration
    /// How long the server may take to close the connection.
    let disconnectTimeout: Duration

    init(closeTimeout: Duration, disconnectTimeout: Duration) {
        (self.closeTimeout, self.disconnectTimeout) = (closeTimeout, disconnectTimeout)
    }

    /// Whether messages that arrive still count. Once the program wants to close, none does: a server that waits for its own to be read
    /// would never take those that are to be sent before the close frame.
    var isReceiving: Bool { state == .open }

    /// Whether messages and pings may be sent.
    var isSending: Bool {
        switch state {
        case .open, .draining: true
        case .closing, .leaving, .closed: false
        }
    }

    /// Whether the server's pings are answered: until its close frame has arrived (§5.5.2). Ours forbids only data after it (§5.5.1).
    var answersPings: Bool {
        switch state {
        case .open, .draining, .closing: true
        case .leaving, .closed: false
        }
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    mutating func handle(_ event: Event) -> [Action] {
        switch (state, event) {
        case (.open, .closeSoon):
            state = .draining
            return [.wait(closeTimeout)]
        case (.draining, .timeIsUp(afterProgress: true)), (.closing, .timeIsUp(afterProgress: true)):
            return [.wait(closeTimeout)]
        case (.open, .close(let closing)), (.draining, .close(let closing)):
            state = .closing(closing)
            return [.send(closing), .wait(closeTimeout)]
        case (.open, .received(let closing)), (.draining, .received(let closing)):
            // The answer repeats the status (§5.5.1).
            return leave(.closed(closing), sending: WebSocketClosing(closing.code))
        case (.closing, .received(let closing)):
            return leave(.closed(closing))
        case (.open, .violation(let violation)), (.draining, .violation(let violation)):
            return leave(.failed(violation), sending: WebSocketClosing(violation.status.rawValue))
        case (.closing, .violation(let violation)):
            return finish(.failed(violation))
        case (.open, .cancelled), (.draining, .cancelled):
            let goingAway = WebSocketClosing(1001)
            state = .closed(.lost(sent: goingAway))
            return [.send(goingAway)]
        case (.closing(let closing), .cancelled):
            state = .closed(.lost(sent: closing))
            return []
        case (.leaving(let ending), .cancelled):
            state = .closed(ending)
            return []
        case (.open, .connectionEnded), (.draining, .connectionEnded), (.draining, .timeIsUp):
            return finish(.lost(sent: nil))
        case (.closing(let closing), .connectionEnded), (.closing(let closing), .timeIsUp):
            return finish(.lost(sent: closing))
        case (.leaving(let ending), .connectionEnded), (.leaving(let ending), .timeIsUp):
            return finish(ending)
        case (.closing, .close), (.leaving, .close), (.leaving, .received), (.leaving, .violation), (.open, .timeIsUp),
            (.draining, .closeSoon), (.closing, .closeSoon), (.leaving, .closeSoon):
            return []
        case (.closed, _):
            return []
        }
    }

    private mutating func leave(_ ending: Ending, sending closing: WebSocketClosing? = nil) -> [Action] {
        state = .leaving(ending)
        return (closing.map { [.send($0)] } ?? []) + [.wait(disconnectTimeout)]
    }

    private mutating func finish(_ ending: Ending) -> [Action] {
        state = .closed(ending)
        return [.finish(ending)]
    }
}
