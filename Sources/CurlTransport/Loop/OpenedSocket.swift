/// One socket and no other: libcurl closes sockets before it says so, and the kernel gives their numbers to others at once.
struct OpenedSocket: Equatable {
    let number: Int32
    /// Which of those that were opened through its set it is; 0 for any other.
    let opening: Int
}
