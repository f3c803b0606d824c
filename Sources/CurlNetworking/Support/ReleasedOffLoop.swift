import CurlTransport

/// Holds a value that may take long to release, or whose `deinit` is the program's. When the holder itself is released on an event loop,
/// another thread releases the value; elsewhere that is done at once.
///
/// Whoever else retains the value, even for a moment, must not do so beyond the holder's end if that may be on a loop.
///
/// `@unchecked Sendable`: it never changes, and its value comes and goes with it. Callers make sure that the value may be used where they use it.
final class ReleasedOffLoop<Value>: @unchecked Sendable {
    private let box: Unmanaged<Box>

    private final class Box {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    init(_ value: Value) {
        box = .passRetained(Box(value))
    }

    var value: Value { box.takeUnretainedValue().value }

    deinit {
        guard EventLoop.isCurrent else { return box.release() }
        // The closure has no reference of its own, whose release would be a race with that one.
        nonisolated(unsafe) let box = box
        WorkThreads.blocking.run { box.release() }
    }
}
