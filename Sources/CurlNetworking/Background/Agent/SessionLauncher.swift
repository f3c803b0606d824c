import Foundation

/// Runs the launch command of a background session's program: once, when all tasks are done and no program is attached or about to be.
/// Used only on the agent's queue.
final class SessionLauncher {
    private unowned let session: AgentSession

    /// How long a program has to attach before the command is run.
    private static let delay = Duration.seconds(1)

    init(of session: AgentSession) {
        self.session = session
    }

    var isDue: Bool {
        !session.isAttached && !session.record.hasLaunched && !session.tasks.isEmpty
            && session.tasks.values.allSatisfy(\.hasEnded) && !session.record.settings.launchCommand.isEmpty
    }

    func runIfDue() {
        guard isDue else { return }
        session.after(Self.delay) { [weak self] in self?.run() }
    }

    private func run() {
        guard isDue else { return }
        session.change { $0.hasLaunched = true }
        let result = LaunchCommand.run(session.record.settings.launchCommand, for: session.record.identifier)
        session.log("launch command: \(result)")
        session.changed()
    }

    /// The program has acted on its tasks. One that only attaches and detaches isn't launched again.
    func allowAgain() {
        if session.record.hasLaunched { session.change { $0.hasLaunched = false } }
    }
}
