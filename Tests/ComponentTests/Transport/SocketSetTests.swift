import Glibc
import Testing

@testable import CurlTransport

@Suite("The sockets of a loop")
struct SocketSetTests {
    private static let owner: UInt32 = 7

    /// The set itself can't be copied, as the macros of the tests would.
    private final class Sockets {
        private var set = SocketSet()

        func opened(_ socket: Int32) { set.opened(socket) }
        func close(_ socket: Int32) -> UInt32? { set.close(socket) }
        func unwatch(_ socket: Int32) { set.unwatch(socket) }
        func becameIdle(_ socket: Int32, _ traffic: IdleTraffic, after asker: AnyObject? = nil) {
            set.becameIdle(set.current(socket), traffic, after: ObjectIdentifier(asker ?? self))
        }
        func isWatching(_ socket: Int32) -> Bool { set.isWatching(socket) }
        func poll() -> Int { set.poll() }
        func event(at index: Int) -> SocketSet.Event { set.event(at: index) }
        func hangUp(_ socket: Int32) { set.hangUp(socket) }
        func leave(_ socket: Int32) { set.leave(socket) }
        func endRests() { set.endRests() }

        func noteWritable(_ socket: Int32, isFutile: Bool) -> Bool {
            set.noteWritable(socket, isFutile: isFutile)
        }

        /// How a socket is ready; nil if none is.
        func readiness() -> UInt32? {
            guard poll() > 0, case .ready(let ready) = event(at: 0) else { return nil }
            return ready.readiness
        }

        /// Whether the one thing that is heard of is something that has happened to an idle connection.
        func noticesUnasked(on socket: Int32) -> Bool {
            guard poll() == 1, case .unasked(SocketSetTests.owner, socket) = event(at: 0) else { return false }
            return true
        }

        func watch(_ socket: Int32, for interest: SocketInterest, owner: UInt32, by asker: AnyObject? = nil) -> Bool {
            set.watch(socket, for: interest, owner: owner, by: asker.map { ObjectIdentifier($0) })
        }

        func ignore(_ socket: Int32) { set.ignore(socket) }

        func hangUpReadable(onPort port: Int, all: Bool, isTaken: Bool = false) -> [UInt32] {
            set.hangUpReadable(onPort: port, all: all) { _ in isTaken }
        }
    }

    /// Two ends of one connection: the first is in the set, as one that libcurl has asked for.
    private static func pair(in set: Sockets) -> (ours: Int32, theirs: Int32) {
        var sockets: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
        set.opened(sockets[0])
        #expect(set.watch(sockets[0], for: .read, owner: owner))
        return (sockets[0], sockets[1])
    }

    private static func send(_ text: String, on socket: Int32) {
        #expect(write(socket, text, text.utf8.count) == text.utf8.count)
    }

    /// What is read from `socket` now; nil where nothing is there.
    private static func received(on socket: Int32) -> Int? {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : count
    }

    @Test("A socket to which libcurl writes nothing, however often it may, rests a moment")
    func futileWrites() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        defer { close(theirs) }
        for interest in [SocketInterest.write, [.read, .write]] {
            #expect(!set.watch(ours, for: interest, owner: Self.owner))
            #expect(!set.noteWritable(ours, isFutile: false))
            for _ in 0..<WriteProgress.tolerated {
                #expect(set.readiness() == SocketInterest.write.rawValue)
                #expect(!set.noteWritable(ours, isFutile: true))
            }
            #expect(set.noteWritable(ours, isFutile: true))
            #expect(set.readiness() == nil)
            set.endRests()
            #expect(set.readiness() == SocketInterest.write.rawValue)
            #expect(set.noteWritable(ours, isFutile: true), "it hasn't written anything since")
            #expect(set.readiness() == nil)
        }
        Self.send("!", on: theirs)
        #expect(set.readiness() == SocketInterest.read.rawValue)
        #expect(set.readiness() == SocketInterest.read.rawValue | SocketInterest.write.rawValue)
        #expect(!set.noteWritable(ours, isFutile: false), "it has written something")
        #expect(!set.noteWritable(ours, isFutile: true))
        _ = set.close(ours)
        set.endRests()
    }

    @Test("A socket that rests is watched as libcurl wants it next, and its end is noticed")
    func endOfRest() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        #expect(!set.watch(ours, for: .write, owner: Self.owner))
        while !set.noteWritable(ours, isFutile: true) {}
        #expect(set.readiness() == nil)
        #expect(!set.watch(ours, for: [.read, .write], owner: Self.owner))
        #expect(set.readiness() == SocketInterest.write.rawValue)
        #expect(!set.watch(ours, for: .write, owner: Self.owner))
        #expect(set.noteWritable(ours, isFutile: true))
        close(theirs)
        #expect(set.readiness().map { $0 & SocketInterest.end.rawValue } == SocketInterest.end.rawValue)
        // What isn't wanted any more doesn't come back.
        #expect(set.noteWritable(ours, isFutile: true))
        set.unwatch(ours)
        set.endRests()
        #expect(set.readiness() == nil)
        _ = set.close(ours)
    }

    @Test("A descriptor that the kernel refuses to watch isn't taken for watched, and is tried again")
    func refused() throws {
        let set = Sockets()
        // epoll(7) refuses files. For sockets it takes a lack of memory.
        let file = open("/proc/self/exe", O_RDONLY)
        try #require(file >= 0)
        set.opened(file)
        _ = set.watch(file, for: .read, owner: Self.owner)
        #expect(!set.isWatching(file))
        let (ours, theirs) = Self.pair(in: set)
        // Now the number is a socket's.
        try #require(dup2(ours, file) == file)
        _ = set.watch(file, for: .read, owner: Self.owner)
        #expect(set.isWatching(file))
        #expect(set.isWatching(ours))
        #expect(!set.isWatching(theirs))
        for socket in [file, ours] { _ = set.close(socket) }
        close(theirs)
    }

    @Test("A negative number is no socket", arguments: [-1, -2, Int32.min])
    func negative(number: Int32) {
        let set = Sockets()
        set.opened(number)
        #expect(!set.watch(number, for: .read, owner: Self.owner))
        set.unwatch(number)
        set.becameIdle(number, .nothing)
        #expect(set.close(number) == nil)
        #expect(set.poll() == 0)
    }

    @Test("A connection that another transfer took before the first one's end was noted isn't idle")
    func takenOver() {
        final class Transfer {}
        let (first, second) = (Transfer(), Transfer())
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        for transfer in [first, second] {
            #expect(!set.watch(ours, for: .read, owner: Self.owner, by: transfer))
            set.unwatch(ours)
        }
        set.becameIdle(ours, .nothing, after: first)
        #expect(write(theirs, "x", 1) == 1)
        #expect(!set.noticesUnasked(on: ours))
        #expect(!set.watch(ours, for: .read, owner: Self.owner, by: second))
        var byte: UInt8 = 0
        #expect(read(ours, &byte, 1) == 1)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing, after: second)
        #expect(write(theirs, "x", 1) == 1)
        #expect(set.noticesUnasked(on: ours))
        #expect(set.close(ours) != nil)
        close(theirs)
    }

    @Test("A connection on which something comes while nothing may is hung up, and nothing can be read of it")
    func unasked() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing)
        #expect(set.poll() == 0)
        Self.send("unasked", on: theirs)
        #expect(set.noticesUnasked(on: ours))
        set.hangUp(ours)
        #expect(Self.received(on: ours) == 0)
        #expect(Self.received(on: theirs) == 0)
        #expect(set.poll() == 0)
        #expect(set.close(ours) == nil, "its end was told")
        close(theirs)
    }

    @Test(
        "A paused transfer's connection and an idle one with frames may have something to read",
        arguments: [true, false]
    )
    func allowed(isPaused: Bool) {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        if !isPaused { set.becameIdle(ours, .frames) }
        Self.send("frame", on: theirs)
        #expect(set.poll() == 1)
        guard case .stray = set.event(at: 0) else {
            Issue.record("not ignored")
            return
        }
        #expect(set.poll() == 0)
        // The next request takes it out.
        #expect(!set.watch(ours, for: .read, owner: Self.owner))
        #expect(set.poll() == 1)
        #expect(Self.received(on: ours) == 1)
        #expect(set.close(ours) == Self.owner)
        close(theirs)
    }

    @Test("An idle connection whose other side has gone is hung up")
    func ended() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing)
        close(theirs)
        #expect(set.noticesUnasked(on: ours))
        set.hangUp(ours)
        #expect(set.close(ours) == nil)
    }

    @Test(
        "An idle connection with frames whose other side has gone is hung up unless others have it",
        arguments: [true, false]
    )
    func endedWithFrames(isShared: Bool) {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .frames)
        Self.send("frame", on: theirs)
        #expect(set.poll() == 1)
        _ = set.event(at: 0)
        close(theirs)
        #expect(set.poll() == 1)
        guard case .ended(Self.owner, ours) = set.event(at: 0) else {
            Issue.record("not ended")
            return
        }
        if isShared { set.leave(ours) } else { set.hangUp(ours) }
        #expect(set.poll() == 0)
        #expect(Self.received(on: ours) == (isShared ? 1 : 0))
        #expect(set.close(ours) == (isShared ? Self.owner : nil))
    }

    @Test("A connection that a request took unnoticed keeps what has come, and is watched when that is asked for")
    func taken() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing)
        Self.send("answer", on: theirs)
        #expect(set.noticesUnasked(on: ours))
        set.ignore(ours)
        #expect(set.poll() == 0)
        #expect(set.hangUpReadable(onPort: 0, all: false, isTaken: true) == [])
        #expect(!set.watch(ours, for: .read, owner: Self.owner))
        #expect(set.poll() == 1)
        #expect(Self.received(on: ours) == 1)
        #expect(set.close(ours) == Self.owner)
        close(theirs)
    }

    @Test("A connection is idle again once its answer was read, and unasked bytes are seen before the next request")
    func takenAndOver() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing)
        Self.send("a", on: theirs)
        #expect(set.poll() == 1)
        _ = set.event(at: 0)
        set.ignore(ours)
        #expect(Self.received(on: ours) == 1)
        Self.send("unasked", on: theirs)
        #expect(set.hangUpReadable(onPort: 0, all: false) == [Self.owner])
        #expect(Self.received(on: ours) == 0)
        #expect(set.close(ours) == nil)
        close(theirs)
    }

    @Test("Before a request goes out on a connection, what has come on it meanwhile is seen")
    func beforeRequest() {
        let set = Sockets()
        let (ours, theirs) = Self.pair(in: set)
        set.unwatch(ours)
        set.becameIdle(ours, .nothing)
        #expect(set.hangUpReadable(onPort: 0, all: false) == [])
        Self.send("unasked", on: theirs)
        #expect(set.hangUpReadable(onPort: 1, all: true) == [])
        #expect(set.hangUpReadable(onPort: 0, all: false) == [Self.owner])
        #expect(Self.received(on: ours) == 0)
        // libcurl takes it out all the same, and notices.
        #expect(set.watch(ours, for: .read, owner: Self.owner))
        #expect(set.close(ours) == Self.owner)
        close(theirs)
    }
}
