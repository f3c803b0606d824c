import Glibc

/// Locks the open file. Returns true if it is already locked, by a process that is writing it or about to remove it: never on file systems
/// without locks.
func isLockedElsewhere(_ descriptor: Int32) -> Bool {
    flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
}
