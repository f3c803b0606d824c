import CurlNetworkingLocks
import CurlTransport
import Dispatch
import Foundation

/// The common part of the two captured streams: their status, and their delegate's events, delivered on the run loops in which they are
/// scheduled.
///
/// `@unchecked Sendable`: `state` is guarded, and nothing else changes.
final class CapturedSide: @unchecked Sendable {
    enum Direction {
        case read, write
    }

    private let connection: CapturedConnection
    private let direction: Direction
    private let state = Mutex(State())

    /// `@unchecked Sendable`: any thread may move a run loop's timer.
    private struct Place: @unchecked Sendable {
        let runLoop: RunLoop
        let mode: RunLoop.Mode
        /// Delivers an event. Always scheduled, if only far in the future: a run loop with nothing in it doesn't wait.
        let timer: Timer
    }

    /// `@unchecked Sendable`: the program's delegate and stream are only passed through.
    private struct State: @unchecked Sendable {
        var status = Stream.Status.notOpen
        var error: URLError?
        weak var delegate: (any StreamDelegate)?
        weak var stream: Stream?
        var places: [Place] = []
        /// Events that the delegate hasn't been sent yet, in order.
        var events: [Stream.Event] = []
        /// Watches for the next event; nil from an event until the program's next call.
        var watch: DescriptorWatch?

        var seen: Seen { Seen(stream: stream, delegate: delegate) }
    }

    /// The program's objects, for the caller to release after unlocking: each may be the last reference by then, and its `deinit` may close
    /// the stream.
    ///
    /// `@unchecked Sendable`: they are only passed through.
    private struct Seen: @unchecked Sendable {
        let stream: Stream?
        let delegate: (any StreamDelegate)?
    }

    private static let queue = DispatchQueue(label: "CurlNetworking.CapturedStreams")

    init(_ connection: CapturedConnection, _ direction: Direction) {
        self.connection = connection
        self.direction = direction
    }

    // MARK: - Status

    var status: Stream.Status { state.withLock { $0.status } }
    var error: URLError? { state.withLock { $0.error } }
    var isOpen: Bool { status == .open }

    func open(_ stream: Stream) {
        let opens = state.withLock { state in
            guard state.status == .notOpen else { return false }
            (state.status, state.stream) = (.open, stream)
            return true
        }
        guard opens else { return }
        send(.openCompleted)
        watch()
    }

    /// Returns false if it was already closed.
    func close() -> Bool {
        let (closes, watch, places) = state.withLock { state in
            defer {
                state.status = .closed
                (state.watch, state.places, state.events) = (nil, [], [])
            }
            return (state.status != .closed, state.watch, state.places)
        }
        watch?.cancel()
        for place in places { place.timer.invalidate() }
        return closes
    }

    /// Notes the outcome of a call; returns what the stream's method returns.
    func note(_ result: CapturedConnection.Result) -> Int {
        switch result {
        case .count(let count):
            watch()
            return count
        case .end:
            change(to: .atEnd, nil, .endEncountered)
            return 0
        case .failed(let error):
            change(to: .error, error, .errorOccurred)
            return -1
        }
    }

    private func change(to status: Stream.Status, _ error: URLError?, _ event: Stream.Event) {
        let isNew = state.withLock { state in
            guard state.status == .open else { return false }
            (state.status, state.error) = (status, error)
            return true
        }
        if isNew { send(event) }
    }

    // MARK: - Events

    var delegate: (any StreamDelegate)? { state.withLock { $0.delegate } }

    func setDelegate(_ delegate: (any StreamDelegate)?, of stream: Stream) {
        state.withLock { state in
            // The stream itself is the default delegate, as with other streams: it does nothing.
            state.delegate = delegate
            state.stream = stream
        }
        watch()
        wake()
    }

    func schedule(_ stream: Stream, in runLoop: RunLoop, _ mode: RunLoop.Mode) {
        let timer = Timer(timeInterval: 1e9, repeats: true) { [weak self] _ in self?.deliver() }
        let mayTell = state.withLock { state in
            guard state.status != .closed else { return false }
            state.stream = stream
            state.places.append(Place(runLoop: runLoop, mode: mode, timer: timer))
            return true
        }
        // A closed stream has nothing to tell, and no run loop waits for it.
        guard mayTell else { return }
        runLoop.add(timer, forMode: mode)
        watch()
        wake()
    }

    func remove(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
        let removed = state.withLock { state in
            let removed = state.places.filter { $0.runLoop === runLoop && $0.mode == mode }
            state.places.removeAll { $0.runLoop === runLoop && $0.mode == mode }
            return removed
        }
        for place in removed { place.timer.invalidate() }
    }

    /// Arranges for one event when the stream can read or write, if it is scheduled and has a delegate.
    private func watch() {
        let (result, seen) = state.withLock { state -> (Result<DescriptorWatch, SystemError>?, Seen) in
            let seen = state.seen
            guard state.status == .open, state.watch == nil, seen.delegate != nil, !state.places.isEmpty else {
                return (nil, seen)
            }
            let result = makeWatch()
            state.watch = try? result.get()
            return (result, seen)
        }
        withExtendedLifetime(seen) {}
        switch result {
        case .success:
            // Bytes already read don't make the descriptor readable.
            if direction == .read { becameReady() }
        case .failure(let error):
            let failure = URLError(.cannotOpenFile, url: nil, "The stream can't be watched: \(error).", cause: error)
            change(to: .error, failure, .errorOccurred)
        case nil:
            break
        }
    }

    private func makeWatch() -> Result<DescriptorWatch, SystemError> {
        Result { () throws(SystemError) in
            try DescriptorWatch(
                connection.descriptor,
                for: direction == .read ? .read : .write,
                on: Self.queue
            ) { [weak self] in
                self?.becameReady()
            } released: { [connection] in
                // The descriptor is closed with the connection, not before.
                withExtendedLifetime(connection) {}
            }
        }
    }

    private func becameReady() {
        guard direction == .write || connection.mayRead else { return }
        let watch = state.withLock { $0.watch.take() }
        guard let watch else { return }
        watch.cancel()
        send(direction == .read ? .hasBytesAvailable : .hasSpaceAvailable)
    }

    private func send(_ event: Stream.Event) {
        state.withLock { if !$0.events.contains(event) { $0.events.append(event) } }
        wake()
    }

    /// Delivers the next event, if there is one and a delegate for it, in whichever run loop comes round first.
    private func wake() {
        let (places, seen) = state.withLock { ($0.events.isEmpty ? [] : $0.places, $0.seen) }
        guard seen.delegate != nil else { return }
        for place in places { place.timer.fireDate = Date() }
    }

    /// Called on a run loop.
    private func deliver() {
        let (seen, event) = state.withLock { state -> (Seen, Stream.Event?) in
            let seen = state.seen
            let isDue = seen.stream != nil && seen.delegate != nil && !state.events.isEmpty
            return (seen, isDue ? state.events.removeFirst() : nil)
        }
        guard let stream = seen.stream, let delegate = seen.delegate, let event else { return }
        if isTrue(event) { delegate.stream(stream, handle: event) } else { watch() }
        wake()
    }

    /// Whether the event still holds. If the program has since read the bytes or the end, or filled the room, a delegate that did so again
    /// would block.
    private func isTrue(_ event: Stream.Event) -> Bool {
        switch event {
        case .hasBytesAvailable: isOpen && connection.mayRead
        case .hasSpaceAvailable: isOpen && connection.mayWrite
        default: true
        }
    }
}
