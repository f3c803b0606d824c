import CurlTransport
import Foundation

/// A session's pools, one on each of its event loops, and the binding of origins to them. Any thread.
final class ConnectionPools: Sendable {
    /// At least one.
    let all: [ConnectionPool]
    /// The pool in which tasks without an origin start; the only one of most sessions.
    let first: ConnectionPool
    /// If false, nothing ever needs to be looked up, locked or moved.
    let areSeveral: Bool
    private let binding: OriginBinding

    init(_ settings: SessionSettings, deliveryQueue: DeliveryQueue) {
        let group = settings.runsTasksOnEventLoop ? EventLoopGroup.tasks : .shared
        let loops = group.next(settings.eventLoops)
        let binding = OriginBinding(loops: loops.count)
        let pools = loops.indices.map { index in
            ConnectionPool(
                index: index,
                on: loops[index],
                settings: settings,
                limits: settings.limits.share(ofLoop: index, of: loops.count),
                deliveryQueue: deliveryQueue
            )
        }
        (all, first, self.binding) = (pools, pools[0], binding)
        areSeveral = pools.count > 1
        guard areSeveral else { return }
        for pool in pools { pool.releaseForgottenOrigins(of: binding) }
    }

    /// The number of origins that are bound to a loop.
    var originCount: Int { binding.count }

    /// The pool of `origin`. Must be called on that pool's own loop before a request enters there; elsewhere, the pool may have forgotten
    /// the origin meanwhile.
    func pool(for origin: Origin) -> ConnectionPool {
        guard areSeveral else { return first }
        let (loop, isCrowding) = binding.loop(for: origin)
        if isCrowding { for pool in all { pool.releaseUnknownOrigins() } }
        return all[loop]
    }

    /// The pool in which a task for `request` starts.
    func pool(forTask request: URLRequest?) -> ConnectionPool {
        guard areSeveral, let request, let origin = try? Origin.of(request) else { return first }
        return pool(for: origin)
    }

    /// Calls `body` for one pool after another, each on its own loop, and then `completion` on the last pool's loop.
    func visit(_ body: @escaping @Sendable (ConnectionPool) -> Void, completion: @escaping @Sendable () -> Void = {}) {
        visit(all[...], body, completion)
    }

    private func visit(
        _ pools: ArraySlice<ConnectionPool>,
        _ body: @escaping @Sendable (ConnectionPool) -> Void,
        _ completion: @escaping @Sendable () -> Void
    ) {
        guard let pool = pools.first else { return completion() }
        pool.loop.submit {
            body(pool)
            self.visit(pools.dropFirst(), body, completion)
        }
    }
}
