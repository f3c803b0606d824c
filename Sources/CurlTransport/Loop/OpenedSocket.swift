/// Identifies one socket: libcurl closes sockets before it says so, and the kernel reuses their numbers at once.
struct OpenedSocket: Equatable {
    let number: Int32
    /// Its place among the sockets opened through its set; 0 for any other.
    let opening: Int
}
