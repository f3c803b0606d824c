import CurlTransport

/// Makes a task's transfer, if it still has one, continue to read its request's body.
final class BodyWake: LoopWork, @unchecked Sendable {
    // @unchecked: changes only to nil.
    private weak var loader: Loader?

    private init(_ loader: Loader) {
        self.loader = loader
    }

    /// Can be called from any thread, repeatedly.
    static func action(for loader: Loader) -> @Sendable () -> Void {
        let wake = BodyWake(loader)
        let loop = loader.pool.loop
        return { loop.submit(wake) }
    }

    func run(on loop: EventLoop) {
        // The body belongs to the loop that the task has left.
        guard let loader, loader.handle.belongs(to: loop) else { return }
        loader.phase.transfer?.bodyBecameReadable()
    }
}
