import Curl
import Foundation

/// A session's lanes, one on each of its event loops, and which origin belongs to which. Any thread.
final class SessionLanes: Sendable {
    /// At least one.
    let all: [SessionLane]
    /// Where tasks begin that go to no origin; the only one of most sessions.
    let first: SessionLane
    /// Where there is one, nothing ever has to be asked, locked or moved.
    let areSeveral: Bool
    private let binding: OriginBinding

    init(_ settings: SessionSettings, deliveryQueue: DeliveryQueue) {
        let loops = EventLoopGroup.shared.next(settings.eventLoops)
        let binding = OriginBinding(loops: loops.count)
        let lanes = loops.indices.map { index in
            SessionLane(
                index,
                on: loops[index],
                settings,
                limits: settings.connectionLimits(onLoop: index, of: loops.count),
                deliveryQueue: deliveryQueue
            )
        }
        (all, first, self.binding) = (lanes, lanes[0], binding)
        areSeveral = lanes.count > 1
        guard areSeveral else { return }
        for lane in lanes { lane.releaseForgottenOrigins(of: binding) }
    }

    /// The lane of `origin`. To be asked on that lane's own loop before a request enters there: elsewhere it may have forgotten the origin
    /// meanwhile.
    func lane(for origin: Origin) -> SessionLane {
        areSeveral ? all[binding.loop(for: origin)] : first
    }

    /// Where a task for `request` begins.
    func lane(forTask request: URLRequest?) -> SessionLane {
        guard areSeveral, let request, let origin = try? RequestEncoder.origin(of: request) else { return first }
        return lane(for: origin)
    }

    /// Calls `body` for one lane after the other, on its loop, and then `completion` on the last one's.
    func visit(_ body: @escaping @Sendable (SessionLane) -> Void, completion: @escaping @Sendable () -> Void = {}) {
        visit(all[...], body, completion)
    }

    private func visit(
        _ lanes: ArraySlice<SessionLane>,
        _ body: @escaping @Sendable (SessionLane) -> Void,
        _ completion: @escaping @Sendable () -> Void
    ) {
        guard let lane = lanes.first else { return completion() }
        lane.loop.submit {
            body(lane)
            self.visit(lanes.dropFirst(), body, completion)
        }
    }
}
