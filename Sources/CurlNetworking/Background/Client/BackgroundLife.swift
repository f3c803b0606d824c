/// What a program still wants of its background session.
enum BackgroundLife: Equatable {
    case open
    /// All of its tasks are cancelled, including those that an agent has yet to list.
    case cancelling
    /// The session is over, and only awaits confirmations; tasks that an agent still lists are cancelled if `cancels`.
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
