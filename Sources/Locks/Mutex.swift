import Glibc

/// A value behind a lock; `Synchronization.Mutex` on top of a pthread mutex.
///
/// The standard library's own waits in the kernel, where the thread sanitizer doesn't see who handed the lock to whom: it
/// reports a race wherever two threads really met. The sanitizer knows pthread's. Not recursive. Never hold it while the
/// user's code runs.
///
/// Public, as what it is used for with every request: in other modules the compiler makes room in the caller's code for what is public
/// alone, and a call that it can't look into costs several times as much as the lock.
///
/// `@unchecked Sendable`: the lock guards the value.
public struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    /// One piece of memory: the lock must not move, and lies beside what it guards.
    @usableFromInline
    let lock: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline
    let value: UnsafeMutablePointer<Value>

    /// A lock that nobody holds.
    @inlinable
    public init(_ initialValue: consuming sending Value) {
        let alignment = max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<Value>.alignment)
        let offset = MemoryLayout<pthread_mutex_t>.size.roundedUp(toMultipleOf: MemoryLayout<Value>.alignment)
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size,
            alignment: alignment
        )
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
        UnsafeMutableRawPointer(lock).deallocate()
    }

    /// Runs `body` with the value, alone. Blocks while another thread does.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    /// The same, unless another thread has the lock: then nil, at once.
    @inlinable
    public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result? {
        guard pthread_mutex_trylock(lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    /// Held from here to `unlockAfterFork()`, in parent and child: for the handlers of a fork, which can't be one function.
    package borrowing func lockBeforeFork() {
        pthread_mutex_lock(lock)
    }

    package borrowing func unlockAfterFork() {
        pthread_mutex_unlock(lock)
    }

    /// The value between those two.
    package borrowing func changeDuringFork(_ body: (inout Value) -> Void) {
        body(&value.pointee)
    }
}

extension Int {
    @usableFromInline
    func roundedUp(toMultipleOf step: Int) -> Int { (self + step - 1) / step * step }
}
