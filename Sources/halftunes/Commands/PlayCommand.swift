import Foundation

/// `halftunes play`
struct PlayCommand {
    private enum Event: Sendable {
        case signal(Int32)
        case over(Playback.Ending)
    }

    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    /// Returns when the file has been played, or a signal has stopped it.
    func run() async throws -> Int32 {
        let file = URL(fileURLWithPath: invocation.operands.first ?? "")
        try Playback.check(file)
        let player = try Player()
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let signals = Signals(Signals.endings) { continuation.yield(.signal($0)) }
        // Before the player prints anything.
        Console.print("Playing \(file.path.printable) with \(player.name.printable). Ctrl-C stops it.")
        let playback = try Playback(file, with: player, isQuiet: false) { continuation.yield(.over($0)) }
        var signal: Int32?
        for await event in events {
            switch event {
            case .signal(let number):
                signal = number
                playback.stop()
            case .over(let ending):
                withExtendedLifetime(signals) {}
                return exitCode(ending, signal, player)
            }
        }
        return ExitCode.failure
    }

    private func exitCode(_ ending: Playback.Ending, _ signal: Int32?, _ player: Player) -> Int32 {
        if let signal { return ExitCode.signal(signal) }
        guard let problem = ending.problem(with: player) else { return ExitCode.success }
        Console.printError(problem)
        return ExitCode.failure
    }
}

extension Playback.Ending {
    /// What went wrong; nil if nothing did.
    func problem(with player: Player) -> String? {
        switch self {
        case .finished, .stopped: nil
        case .failed(let status): "\(player.name) has failed with status \(status)."
        case .killed(let signal): "\(player.name) was ended by signal \(signal)."
        }
    }
}
