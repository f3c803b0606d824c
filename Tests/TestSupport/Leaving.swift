import CurlTransport

/// Notes whether it is released on an event loop. An object that holds one leaves where that does.
package final class Leaving: Hashable, CustomStringConvertible, Sendable {
    private let endings: Watched<[Bool]>

    package init(_ endings: Watched<[Bool]>) {
        self.endings = endings
    }

    deinit {
        let isOnLoop = EventLoop.isCurrent
        endings.update { $0.append(isOnLoop) }
    }

    /// As the name of a header field.
    package var description: String { "X-Leaving" }
    package static func == (one: Leaving, other: Leaving) -> Bool { one === other }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
