/// How far a background client has got with attaching to an agent. A value.
enum AgentConnection {
    /// No agent is needed at the moment.
    case detached
    /// Looking for an agent, or starting one, after this many consecutive failures.
    case connecting(failures: Int)
    /// `hello` has been sent.
    case greeting(AgentGreeting, failures: Int)
    case attached(BackgroundClient.Channel)
    case closed

    /// Whether there is an agent, or one is being looked for.
    var hasAgent: Bool {
        switch self {
        case .connecting, .greeting, .attached: true
        case .detached, .closed: false
        }
    }

    /// The number of failures to attach since the last success.
    var failures: Int {
        switch self {
        case .connecting(let failures), .greeting(_, let failures): failures
        case .detached, .attached, .closed: 0
        }
    }

    /// To an agent that may not have welcomed the program yet.
    var openChannel: BackgroundClient.Channel? {
        switch self {
        case .greeting(let greeting, _): greeting.channel
        case .attached(let channel): channel
        case .detached, .connecting, .closed: nil
        }
    }
}
