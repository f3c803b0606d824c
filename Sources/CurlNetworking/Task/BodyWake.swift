import CurlTransport

/// Has a task's transfer, if there still is one, read on from its request's body.
final class BodyWake: LoopWork, @unchecked Sendable {
    // @unchecked: never changes but to nil.
    private weak var loader: Loader?

    private init(_ loader: Loader) {
        self.loader = loader
    }

    /// May be called from any thread, time and again.
    static func action(for loader: Loader) -> @Sendable () -> Void {
        let wake = BodyWake(loader)
        let loop = loader.pool.loop
        return { loop.submit(wake) }
    }

    func run(on loop: EventLoop) {
        // A task that has moved has left that body behind.
        guard let loader, loader.handle.belongs(to: loop) else { return }
        loader.phase.transfer?.bodyBecameReadable()
    }
}
