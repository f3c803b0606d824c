import Foundation

/// Where each task stands between a program and its agent, by the task's key. A value.
///
/// What an agent must not forget is kept until the agent has confirmed it: a new task until it is recorded, and an acknowledged end until
/// its record is gone.
struct TaskLedger<Engine> {
    enum Entry {
        /// The delegate hasn't been told of the end yet. A late end is one from before the program attached.
        case open(Engine, Record, isLate: Bool)
        /// The delegate has been told; the agent hasn't confirmed that it knows.
        case acknowledged
        /// The delegate was told while there was no agent: one that turns up with the task has to drop it.
        case unwanted
        /// The delegate was told that the file can't be handed over. The agent keeps it for the next session.
        case left
    }

    /// The agent's record of a task.
    enum Record {
        /// None: it hasn't been sent the task.
        case none
        /// It was sent the task, and hasn't said that it has recorded it.
        case possible
        case exists
        /// The task has failed here: an agent that turns up with it has to drop it.
        case unwanted
    }

    private var entries: [UUID: Entry] = [:]
    /// The number of acknowledged ends that the agent hasn't confirmed.
    private(set) var unconfirmed = 0
    /// The number of late ends that the delegate has yet to be told of.
    private(set) var late = 0

    private mutating func set(_ key: UUID, _ entry: Entry?) {
        count(entries[key], -1)
        count(entry, 1)
        entries[key] = entry
    }

    private mutating func count(_ entry: Entry?, _ change: Int) {
        switch entry {
        case .acknowledged: unconfirmed += change
        case .open(_, _, isLate: true): late += change
        case .open, .unwanted, .left, nil: break
        }
    }

    // MARK: - Queries

    subscript(_ key: UUID) -> Entry? { entries[key] }

    /// The engine of a task whose end the delegate has yet to hear of.
    func engine(_ key: UUID) -> Engine? {
        if case .open(let engine, _, _) = entries[key] { engine } else { nil }
    }

    var engines: [Engine] { entries.keys.compactMap(engine) }

    func isRecorded(_ key: UUID) -> Bool {
        if case .open(_, .exists, _) = entries[key] { true } else { false }
    }

    /// The tasks that are still wanted and of which the agent has no record.
    var unrecorded: Set<UUID> { Set(entries.keys.filter { engine($0) != nil && !isRecorded($0) }) }

    // MARK: - Events

    /// A new task.
    mutating func add(_ engine: Engine, _ key: UUID) {
        set(key, .open(engine, .none, isLate: false))
    }

    /// A task that an earlier program made.
    mutating func restore(_ engine: Engine, _ key: UUID, hasEnded: Bool) {
        set(key, .open(engine, .exists, isLate: hasEnded))
    }

    /// The agent is sent the task.
    mutating func submit(_ key: UUID) {
        guard case .open(let engine, .none, let isLate) = entries[key] else { return }
        set(key, .open(engine, .possible, isLate: isLate))
    }

    /// The agent has recorded the task. Returns its engine if that is news.
    mutating func accept(_ key: UUID) -> Engine? {
        switch entries[key] {
        case .open(let engine, .none, let isLate), .open(let engine, .possible, let isLate):
            set(key, .open(engine, .exists, isLate: isLate))
            return engine
        case .open, .acknowledged, .unwanted, .left, nil:
            return nil
        }
    }

    /// The delegate has been told of the task's end. `tellsAgent` is whether the agent must hear of it, and `areAllTold` whether it was the
    /// last of the late ones.
    ///
    /// - Parameter hasAgent: Whether there is an agent, or may be one soon: otherwise nothing gets confirmed.
    mutating func acknowledge(
        _ key: UUID,
        keepsFile: Bool,
        hasAgent: Bool = true
    ) -> (tellsAgent: Bool, areAllTold: Bool) {
        guard case .open(_, let record, let isLate) = entries[key] else { return (false, false) }
        let entry: Entry? =
            switch record {
            case _ where keepsFile: .left
            case .none, .possible: nil
            case .exists: hasAgent ? .acknowledged : .unwanted
            case .unwanted: .unwanted
            }
        set(key, entry)
        return (record == .exists && !keepsFile && hasAgent, isLate && late == 0)
    }

    /// The agent has forgotten the task.
    mutating func forget(_ key: UUID) {
        switch entries[key] {
        case .open(let engine, .unwanted, let isLate): set(key, .open(engine, .none, isLate: isLate))
        case .acknowledged, .unwanted: set(key, nil)
        case .open, .left, nil: break
        }
    }

    /// The agent has these tasks and no others. Returns those that it has lost, and those that it has yet to hear of, which may be over.
    mutating func compare(with known: Set<UUID>) -> (lost: [Engine], new: [Engine]) {
        var (lost, new): ([Engine], [Engine]) = ([], [])
        for (key, entry) in entries where !known.contains(key) {
            switch entry {
            case .open(let engine, .exists, let isLate):
                set(key, .open(engine, .none, isLate: isLate))
                lost.append(engine)
            case .open(let engine, .none, let isLate), .open(let engine, .possible, let isLate):
                set(key, .open(engine, .none, isLate: isLate))
                new.append(engine)
            case .open(_, .unwanted, _):
                break
            case .acknowledged, .unwanted, .left:
                set(key, nil)
            }
        }
        return (lost, new)
    }

    /// There is no agent: all tasks fail here, and an agent that turns up later has to drop those that it may have. Returns those whose
    /// delegates must be told.
    ///
    /// - Parameter isOver: Whether a task has already ended. The agent keeps the result until the delegate has been told of it.
    mutating func giveUp(isOver: (Engine) -> Bool) -> [Engine] {
        for (key, entry) in entries {
            switch entry {
            case .open(_, .none, _): break
            case .open(let engine, .exists, _) where isOver(engine): break
            case .open(let engine, _, let isLate): set(key, .open(engine, .unwanted, isLate: isLate))
            case .acknowledged: set(key, .unwanted)
            case .unwanted, .left: break
            }
        }
        return engines
    }
}
