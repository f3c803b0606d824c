/// How a loop spends its rounds. Pure values: the caller supplies the time. Loop only.
struct LoopPacing {
    var rounds = RoundPacing()
    /// For the waits while transfers run.
    private var transferWaits = WaitPacing()
    /// For the waits in between.
    private var idleWaits = WaitPacing()

    /// See `WaitPacing`. `isIdle` if no transfer runs.
    mutating func mayWait(isIdle: Bool) -> Bool {
        isIdle ? idleWaits.mayWait() : transferWaits.mayWait()
    }

    /// See `WaitPacing`.
    mutating func waited(isIdle: Bool, inVain: Bool) {
        if isIdle { idleWaits.waited(inVain: inVain) } else { transferWaits.waited(inVain: inVain) }
    }
}

/// Decides in which of its rounds a busy loop polls its sockets, and lets multis check their connections again. A pure value: the caller
/// supplies the time. Loop only.
struct RoundPacing {
    private var roundsWithoutPoll = 0
    /// When the first of these rounds began, or the last poll; nil if there was neither in this turn.
    private var withoutPollSince: MonotonicTime?
    private var roundsWithoutRecheck = 0

    /// How many rounds in a row may skip the sockets.
    static let roundsPerPoll = 32
    /// The most nanoseconds between polls if rounds are slow.
    static let nanosecondsPerPoll: Int64 = 1_000_000
    /// How many rounds a recheck is put off for: while there is enough to do, it costs more than it gains.
    static let roundsPerRecheck = 32

    /// Called in every round. True if the rounds since the last poll were many, or took long.
    mutating func isPollDue(at now: MonotonicTime) -> Bool {
        let start = withoutPollSince ?? now
        roundsWithoutPoll += 1
        let isOverdue = now.nanoseconds - start.nanoseconds >= Self.nanosecondsPerPoll
        guard isOverdue || roundsWithoutPoll >= Self.roundsPerPoll else {
            withoutPollSince = start
            return false
        }
        // The rest of this round may take long.
        (roundsWithoutPoll, withoutPollSince) = (0, now)
        return true
    }

    /// Called in a round that polls the sockets because nothing else is due. Serving them may take long.
    mutating func polls(at now: MonotonicTime) {
        (roundsWithoutPoll, withoutPollSince) = (0, now)
    }

    /// Called when the loop goes to sleep.
    mutating func turnEnds() {
        (roundsWithoutPoll, withoutPollSince) = (0, nil)
    }

    /// Called in a round in which multis want to recheck their connections. `isQuiet` if no socket was ready.
    mutating func isRecheckDue(isQuiet: Bool) -> Bool {
        roundsWithoutRecheck += 1
        guard isQuiet || roundsWithoutRecheck >= Self.roundsPerRecheck else { return false }
        roundsWithoutRecheck = 0
        return true
    }
}

/// Decides in which of its rounds a loop with nothing to do waits a moment for events itself, instead of leaving that to Dispatch. A pure
/// value. Loop only.
struct WaitPacing {
    /// How many of the next rounds must not wait.
    private var roundsWithoutWaiting = 0
    private var lastPenalty = 0

    /// The most rounds that don't wait after one that waited in vain.
    static let longestPenalty = 64

    /// Whether this round may wait. False for a number of rounds after a wait in vain, doubling each time.
    mutating func mayWait() -> Bool {
        guard roundsWithoutWaiting > 0 else { return true }
        roundsWithoutWaiting -= 1
        return false
    }

    /// Called after the round has waited.
    mutating func waited(inVain: Bool) {
        lastPenalty = inVain ? min(Self.longestPenalty, max(1, 2 * lastPenalty)) : 0
        roundsWithoutWaiting = lastPenalty
    }
}
