import CCurlNetworkingLinux
import Glibc

/// An eventfd with which any thread wakes a loop that waits for sockets. Each signal is an edge for epoll, so it needn't be read: its
/// counter never fills up.
struct WakeUpDescriptor: ~Copyable {
    let descriptor: Int32
    /// The errno if the system was out of descriptors.
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
}
