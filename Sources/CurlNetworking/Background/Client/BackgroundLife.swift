/// What a program still wants of its background session.
enum BackgroundLife: Equatable {
    case open
    /// All of its tasks are cancelled, those included that an agent has yet to list.
    case cancelling
    /// It is over, and only confirmations are awaited; tasks that an agent still lists are cancelled if it ended so.
    case closing(cancels: Bool)

    mutating func cancel() { self = isClosing ? .closing(cancels: true) : .cancelling }

    mutating func close() { self = .closing(cancels: cancelsTasks) }

    var cancelsTasks: Bool {
        switch self {
        case .open: false
        case .cancelling: true
        case .closing(let cancels): cancels
        }
    }

    var isClosing: Bool { if case .closing = self { true } else { false } }
}
