import Foundation
import Glibc

/// The listening socket of a server and its connections.
///
/// `@unchecked Sendable`: everything mutable is touched only on the loop (asserted).
final class ServerCore: EventLoop.Delegate, @unchecked Sendable {
    private static let listenerToken: UInt64 = 0
    private static let bufferSize = 256 * 1024
    /// How long to stop accepting connections when there are no descriptors left.
    private static let acceptPause = Duration.milliseconds(10)

    let loop: EventLoop
    let recorder: Recorder
    let options: LoopbackServer.Options
    let service: LoopbackServer.Service

    // MARK: Loop only

    /// One of each for all connections: what is received is parsed at once, what isn't sent is made again.
    let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 16)
    let sendBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 16)

    private var listener: Int32?
    /// By number, which is also the token on the loop.
    private var connections: [UInt64: ServerConnection] = [:]
    private var lastNumber: UInt64 = 0
    private var dateSecond: time_t = -1
    private var dateText = ""

    init(
        listener: Int32,
        loop: EventLoop,
        recorder: Recorder,
        options: LoopbackServer.Options,
        service: LoopbackServer.Service
    ) {
        self.listener = listener
        self.loop = loop
        self.recorder = recorder
        self.options = options
        self.service = service
        if options.accepts { loop.watch(listener, token: Self.listenerToken, for: .readable) }
    }

    deinit {
        assert(listener == nil && connections.isEmpty, "The loop has ended before its server")
        receiveBuffer.deallocate()
        sendBuffer.deallocate()
    }

    /// The value of a `Date` field, made once a second.
    var date: String {
        let now = time(nil)
        if now != dateSecond {
            dateSecond = now
            dateText = LoopbackServer.HTTPDate.format(secondsSince1970: now)
        }
        return dateText
    }

    func connection(_ number: UInt64) -> ServerConnection? {
        assert(loop.isCurrent)
        return connections[number]
    }

    /// A connection's socket is closed.
    func connectionClosed(_ number: UInt64) {
        connections[number] = nil
    }

    // MARK: EventLoop.Delegate

    func socketReady(token: UInt64, _ readiness: Readiness) {
        if token == Self.listenerToken {
            acceptConnections()
        } else {
            connections[token]?.ready(readiness)
        }
    }

    func deadlinePassed(token: UInt64, now: ContinuousClock.Instant) {
        if token == Self.listenerToken {
            listener.map { loop.rewatch($0, token: token, for: .readable) }
        } else {
            connections[token]?.deadlinePassed(now)
        }
    }

    func loopEnding() {
        closeListener()
        for connection in connections.values { connection.close() }
        recorder.note { $0.isStopped = true }
    }

    private func acceptConnections() {
        guard let listener else { return }
        while true {
            switch Sockets.accept(listener) {
            case .socket(let socket):
                open(socket)
            case .noneWaiting:
                return
            case .exhausted:
                // The backlog waits.
                loop.rewatch(listener, token: Self.listenerToken, for: [])
                return loop.schedule(at: .now + Self.acceptPause, token: Self.listenerToken)
            }
        }
    }

    private func open(_ socket: Int32) {
        lastNumber += 1
        let connection = ServerConnection(socket: socket, number: lastNumber, core: self)
        connections[lastNumber] = connection
        recorder.note { state in
            state.accepted += 1
            state.open += 1
        }
        if loop.watch(socket, token: lastNumber, for: .readable) {
            connection.opened()
        } else {
            connection.close()
        }
    }

    // MARK: Control

    func closeListener() {
        assert(loop.isCurrent)
        guard let listener else { return }
        close(listener)
        self.listener = nil
    }

    func closeIdleConnections() -> Int {
        assert(loop.isCurrent)
        let idle = connections.values.filter(\.isIdle)
        for connection in idle { connection.close() }
        return idle.count
    }

    func resetConnections() -> Int {
        assert(loop.isCurrent)
        let all = Array(connections.values)
        for connection in all { connection.reset() }
        return all.count
    }
}
