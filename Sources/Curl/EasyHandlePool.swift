/// Easy handles waiting for their next transfer. Loop only.
package struct EasyHandlePool {
    private var idle: [EasyHandle] = []
    private let capacity = 256

    /// A handle without options, or with those of another transfer that stand for this one too; nil where libcurl is out of memory.
    mutating func take(for options: some EasyOptions) -> EasyHandle? {
        while let handle = idle.popLast() {
            if handle.isReady(for: options) || handle.reset() { return handle }
        }
        return EasyHandle()
    }

    /// Takes back a handle that is in no multi; whether its transfer has `succeeded`, so that its options may stand.
    mutating func give(back handle: EasyHandle, succeeded: Bool = false) {
        guard idle.count < capacity, !handle.isCustomized else { return }
        guard (succeeded && !handle.isTraced) || handle.reset() else { return }
        idle.append(handle)
    }
}
