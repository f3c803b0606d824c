import Glibc

/// Keeps a child process forked without `exec` from waiting for the parent's threads, which don't exist there, and from using the parent's
/// loops, whose epoll sets still belong to the parent.
///
/// Dispatch itself works in such a child only if the parent hadn't used it yet.
enum ForkSafety {
    /// Installs the handlers, once.
    static func install() {
        _ = isInstalled
    }

    // Any of the parent's threads may hold a group's lock at the fork: the forking thread takes the locks first, so that the child finds
    // the groups consistent.
    private static let isInstalled =
        pthread_atfork(
            { for group in EventLoopGroup.all { group.willFork() } },
            { for group in EventLoopGroup.all { group.didFork(isChild: false) } },
            { for group in EventLoopGroup.all { group.didFork(isChild: true) } }
        ) == 0
}
