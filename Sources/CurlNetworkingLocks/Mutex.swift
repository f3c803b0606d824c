import Glibc

/// A value guarded by a lock: `Synchronization.Mutex` with a pthread mutex.
///
/// The thread sanitizer doesn't understand the standard library's, which waits in the kernel, and reports a race whenever two threads
/// really contend for it. It understands pthread's. Not recursive. Never hold it while the user's code runs.
///
/// Public because it is used for every request: across modules the compiler inlines only public functions, and a call that isn't inlined
/// costs several times as much as the lock.
///
/// `@unchecked Sendable`: the lock guards the value.
public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    /// In one allocation: the lock must not move, and is next to the value that it guards.
    @usableFromInline
    let lock: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline
    let value: UnsafeMutablePointer<Value>

    /// An unlocked value.
    @inlinable
    public init(_ initialValue: consuming sending Value) {
        precondition(MemoryLayout<Value>.alignment <= 16, "malloc aligns no better")
        let offset = MemoryLayout<pthread_mutex_t>.size.roundedUp(toMultipleOf: MemoryLayout<Value>.alignment)
        let memory = UnsafeMutableRawPointer.allocated(byteCount: offset + MemoryLayout<Value>.size)
        lock = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        value = (memory + offset).bindMemory(to: Value.self, capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
        value.initialize(to: initialValue)
    }

    @inlinable
    deinit {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(lock)
        free(lock)
    }

    /// Runs `body` with the value while holding the lock. Blocks while another thread holds it.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    /// The same, but returns nil at once if another thread holds the lock.
    @inlinable
    public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result? {
        guard pthread_mutex_trylock(lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    /// Locks until `unlockAfterFork()`, in parent and child: for fork handlers, which are separate functions.
    package borrowing func lockBeforeFork() {
        pthread_mutex_lock(lock)
    }

    package borrowing func unlockAfterFork() {
        pthread_mutex_unlock(lock)
    }

    /// Changes the value between those two calls.
    package borrowing func changeDuringFork(_ body: (inout Value) -> Void) {
        body(&value.pointee)
    }
}

extension UnsafeMutableRawPointer {
    /// Memory for `free`, aligned for every type of C. Traps if there is none left.
    ///
    /// Swift's own `allocate` calls `posix_memalign` on Linux, whatever the alignment, which takes three times as long.
    @inlinable
    static func allocated(byteCount: Int) -> UnsafeMutableRawPointer {
        malloc(byteCount) ?? .allocate(byteCount: byteCount, alignment: 16)
    }
}

extension Int {
    @usableFromInline
    func roundedUp(toMultipleOf step: Int) -> Int { (self + step - 1) / step * step }
}
