import Glibc

/// What a child process that was forked without `exec` must not do: wait for the parent's threads, which it has not, or use the parent's
/// loops, whose epoll sets are the parent's still.
///
/// Dispatch itself serves such a child only where the parent had not used it yet.
enum ForkSafety {
    /// Installs the handlers, once.
    static func install() {
        _ = isInstalled
    }

    // Any thread of the parent's may be inside a group as the process forks: the forking one is let in first, so that the
    // child finds the groups in order.
    private static let isInstalled =
        pthread_atfork(
            { for group in EventLoopGroup.all { group.willFork() } },
            { for group in EventLoopGroup.all { group.hasForked(isChild: false) } },
            { for group in EventLoopGroup.all { group.hasForked(isChild: true) } }
        ) == 0
}
