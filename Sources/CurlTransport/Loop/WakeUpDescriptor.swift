import CCurlNetworkingLinux
import Glibc

/// An eventfd, by which any thread ends a loop's waiting for sockets.
struct WakeUpDescriptor: ~Copyable {
    let descriptor: Int32
    /// The system's errno where it had no descriptor left.
    let failure: SystemError?

    init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        failure = descriptor < 0 ? SystemError.current : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Any thread.
    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Called on the loop when the descriptor has become readable.
    func acknowledge() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
