import Foundation

/// How a web socket comes to its end (RFC 6455 §7): events in, actions out.
struct WebSocketCloseHandshake: Equatable {
    enum State: Equatable {
        case open
        /// The program wants to close, and the server has yet to take what was to be sent before.
        case draining
        /// Our close frame is sent, and the server's is awaited.
        case closing(WebSocketClosing)
        /// Both have been sent, or there is no sense in waiting for the server's: it is to hang up.
        case leaving(Ending)
        case closed(Ending)
    }

    /// What the connection's end came to.
    enum Ending: Equatable {
        /// The server's close frame has come; what it says, and what ours has said if it was first.
        case closed(WebSocketClosing)
        /// The server broke the rules, or sent too much.
        case failed(WebSocketViolation)
        /// No close frame came: the connection was lost, or the server took too long.
        case lost(sent: WebSocketClosing?)
    }

    enum Event: Equatable {
        /// The program wants to close, and something has to be sent before.
        case closeSoon
        /// The program wants to close, and nothing has to be sent before.
        case close(WebSocketClosing)
        case received(WebSocketClosing)
        case violation(WebSocketViolation)
        /// The program has no more use for the connection, which is closed without waiting for anything.
        case cancelled
        /// The server has hung up, or the connection is lost.
        case connectionEnded
        /// With `afterProgress`, the server has taken some of what was to be sent meanwhile.
        case timeIsUp(afterProgress: Bool)
    }

    enum Action: Equatable {
        /// Nothing but pongs is sent after that.
        case send(WebSocketClosing)
        /// The server has that long for what is awaited; an earlier time no longer counts.
        case wait(Duration)
        /// Close the connection; nothing more happens.
        case finish(Ending)
    }

    private(set) var state = State.open
    /// For the server's close frame, and before ours is sent for taking anything.
    let patience: Duration
    /// For the server's hanging up.
    let lingering: Duration

    init(patience: Duration, lingering: Duration) {
        (self.patience, self.lingering) = (patience, lingering)
    }

    /// Whether messages that come still count.
    var isReceiving: Bool { isSending }

    /// Whether messages and pings may be sent.
    var isSending: Bool {
        switch state {
        case .open, .draining: true
        case .closing, .leaving, .closed: false
        }
    }

    /// Whether the server's pings are answered: until its close frame has come (§5.5.2). Ours forbids only data after it (§5.5.1).
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
            return [.wait(patience)]
        case (.draining, .timeIsUp(afterProgress: true)):
            return [.wait(patience)]
        case (.open, .close(let closing)), (.draining, .close(let closing)):
            state = .closing(closing)
            return [.send(closing), .wait(patience)]
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
        return (closing.map { [.send($0)] } ?? []) + [.wait(lingering)]
    }

    private mutating func finish(_ ending: Ending) -> [Action] {
        state = .closed(ending)
        return [.finish(ending)]
    }
}
