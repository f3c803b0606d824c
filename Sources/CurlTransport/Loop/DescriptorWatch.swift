import CCurlNetworkingLinux
import Dispatch
import Glibc

/// Calls a handler on a queue whenever a descriptor is ready, and also when its other end has hung up.
///
/// For sockets, pipes and terminals: a Dispatch source that watches one of them directly may crash the process. When the other end hangs
/// up, Dispatch frees its record of the descriptor on the source's queue, while its manager thread still reads it
/// (swift-corelibs-libdispatch issue 949). It also confuses a reading and a writing source for the same descriptor. So the source watches
/// an epoll set, which can't be hung up, and the set watches the descriptor.
///
/// `@unchecked Sendable`: it is immutable, and any thread may cancel a source.
package final class DescriptorWatch: @unchecked Sendable {
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let read = Interest(rawValue: EPOLLIN.rawValue)
        package static let write = Interest(rawValue: EPOLLOUT.rawValue)
    }

    private let descriptor: Int32
    private let set: Int32
    private let source: any DispatchSourceRead

    /// Begins to watch. Throws if the process is out of descriptors.
    ///
    /// - Parameters:
    ///   - handler: Called on `queue` for as long as the descriptor is ready or hung up. Not after `released`.
    ///   - released: Called on `queue`, once, after `cancel()`: only then may the descriptor be closed.
    package init(
        _ descriptor: Int32,
        for interest: Interest,
        on queue: DispatchQueue,
        handler: @escaping () -> Void,
        released: @escaping () -> Void
    ) throws(SystemError) {
        let set = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard set >= 0 else { throw .current }
        guard Self.control(set, EPOLL_CTL_ADD, descriptor, interest) == 0 else {
            let error = SystemError.current
            close(set)
            throw error
        }
        self.descriptor = descriptor
        self.set = set
        source = DispatchSource.makeReadSource(fileDescriptor: set, queue: queue)
        source.setEventHandler(handler: handler)
        source.setCancelHandler {
            close(set)
            released()
        }
        source.activate()
    }

    deinit {
        cancel()
    }

    /// Replaces what the descriptor is watched for. Not after `cancel()`.
    package func change(to interest: Interest) {
        _ = Self.control(set, EPOLL_CTL_MOD, descriptor, interest)
    }

    /// Any thread.
    package func cancel() {
        source.cancel()
    }

    private static func control(_ set: Int32, _ operation: Int32, _ descriptor: Int32, _ interest: Interest) -> Int32 {
        var event = epoll_event()
        event.events = interest.rawValue
        return epoll_ctl(set, operation, descriptor, &event)
    }
}
