import Dispatch

/// The connection to an agent that is listing its tasks. Used only on its client's queue.
final class AgentGreeting: Sendable {
    let channel: BackgroundClient.Channel
    nonisolated(unsafe) private(set) var listings: [TaskListing] = []
    private let timeout: Duration
    /// Released with the greeting: it retains the client, which may end long before the time-out.
    nonisolated(unsafe) private var isSilent: (@Sendable () -> Void)?

    /// - Parameter timeout: How long the agent may stay silent.
    init(_ channel: BackgroundClient.Channel, timeout: Duration = .seconds(30)) {
        self.channel = channel
        self.timeout = timeout
    }

    func add(_ listing: TaskListing) {
        listings.append(listing)
    }

    /// Calls `isSilent` on `queue` if the agent is silent for too long, but never once the greeting is over and released.
    func watch(on queue: DispatchQueue, _ isSilent: @escaping @Sendable () -> Void) {
        self.isSilent = isSilent
        look(on: queue)
    }

    private func look(on queue: DispatchQueue) {
        let count = listings.count
        queue.asyncAfter(deadline: .after(timeout)) { [weak self] in
            guard let self else { return }
            if listings.count == count { isSilent?() } else { look(on: queue) }
        }
    }
}
