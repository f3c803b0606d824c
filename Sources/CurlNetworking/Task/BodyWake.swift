import CurlTransport

/// Makes a task's transfer, if there still is one, continue reading its request's body.
final class BodyWake: LoopWork, @unchecked Sendable {
    // @unchecked: changes only to nil.
    private weak var loader: Loader?

    private init(_ loader: Loader) {
        self.loader = loader
    }

    /// The action may be called from any thread, repeatedly.
    static func action(for loader: Loader) -> @Sendable () -> Void {
        let wake = BodyWake(loader)
        let loop = loader.pool.loop
        return { loop.submit(wake) }
    }

    func run(on loop: EventLoop) {
        // The body of a task that has moved belongs to the loop it left.
        guard let loader, loader.handle.belongs(to: loop) else { return }
        loader.phase.transfer?.bodyBecameReadable()
    }
}
