/// One thing that happened in a scenario, in words that say nothing of the transport.
package struct Event: Codable, Hashable, Sendable {
    /// Whose thing it is: "client", "server", or a task's own name where several run at once. Order counts within a lane.
    package var lane: String
    /// What happened: a delegate's method, a handler, a request that the server saw.
    package var name: String
    package var details: [String: String]

    package init(lane: String = "client", _ name: String, _ details: [String: String] = [:]) {
        self.lane = lane
        self.name = name
        self.details = details
    }
}

extension Event: CustomStringConvertible {
    package var description: String {
        ([name] + details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: "; ")
    }
}

/// Everything that happened in a scenario on one transport.
package struct Timeline: Sendable {
    package let events: [Event]

    package init(_ events: [Event]) {
        self.events = events
    }

    /// The lanes in alphabetical order, each in its own order.
    package var lanes: [(name: String, events: [Event])] {
        Dictionary(grouping: events, by: \.lane).sorted { $0.key < $1.key }.map { (name: $0.key, events: $0.value) }
    }

    /// Whether there is an event of this name, with these details among its own.
    package func has(_ name: String, _ details: [String: String] = [:]) -> Bool {
        count(name, details) > 0
    }

    package func count(_ name: String, _ details: [String: String] = [:]) -> Int {
        events.count { event in
            event.name == name && details.allSatisfy { event.details[$0.key] == $0.value }
        }
    }

    /// The detail of the first event of this name.
    package func first(_ name: String, _ detail: String) -> String? {
        events.first { $0.name == name }?.details[detail]
    }

    /// The names of a lane's events, in order.
    package func names(lane: String = "client") -> [String] {
        events.filter { $0.lane == lane }.map(\.name)
    }
}
