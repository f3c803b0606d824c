import Foundation
import Synchronization

/// One style of calling: repeats the same GET with a fixed number in flight.
protocol Load {
    var session: URLSession { get }
    /// Has begin what goes on beside the requests, and returns once all of it has received something.
    func startBeside() async
    func run(_ count: Int) async -> Tally
}

extension Load {
    func startBeside() async {}
}

/// `data(from:)`: one Swift task per lane.
struct AsyncLoad: Load {
    let session: URLSession
    private let arguments: Arguments
    /// What goes on beside the requests, in the same session.
    private let crowd: Crowd?

    init(_ arguments: Arguments) {
        self.arguments = arguments
        crowd = arguments.beside == nil ? nil : Crowd(of: arguments.besides, goesOn: true)
        session = makeSession(
            connectionsPerHost: arguments.inFlight + arguments.besides,
            usesDefaultConfiguration: arguments.usesDefaultConfiguration,
            usesEventLoop: arguments.usesEventLoop,
            delegate: crowd,
            delegateQueue: crowd?.queue
        )
    }

    func startBeside() async {
        if let crowd, let url = arguments.beside { await crowd.start(url, session: session) }
    }

    func run(_ count: Int) async -> Tally {
        await withTaskExecutorPreference(eventLoop(of: session)) { await repeated(count) }
    }

    private func repeated(_ count: Int) async -> Tally {
        await inLanes(count, lanes: arguments.inFlight) { [session, arguments] tally in
            do {
                let start = arguments.takesTimes ? Meter.nanoseconds(CLOCK_MONOTONIC) : 0
                defer {
                    if start > 0 { tally.note(nanoseconds: Meter.nanoseconds(CLOCK_MONOTONIC) - start) }
                }
                let (data, response) = try await session.data(from: arguments.url)
                tally.note(complaint(about: response, bytes: data.count, expect: arguments.expect))
            } catch {
                tally.note("\(error)")
            }
        }
    }
}

/// `dataTask(with:completionHandler:)`: each completion starts the next request.
final class HandlerLoad: Load, Sendable {
    private struct State {
        var toStart = 0
        var running = 0
        var tally = Tally()
        var finished: CheckedContinuation<Tally, Never>?
    }

    let session: URLSession
    private let arguments: Arguments
    private let state = Mutex(State())

    init(_ arguments: Arguments) {
        self.arguments = arguments
        session = makeSession(
            connectionsPerHost: arguments.inFlight,
            usesDefaultConfiguration: arguments.usesDefaultConfiguration
        )
    }

    func run(_ count: Int) async -> Tally {
        await withCheckedContinuation { continuation in
            let lanes = min(count, arguments.inFlight)
            state.withLock {
                $0 = State(toStart: count - lanes, running: lanes, finished: continuation)
            }
            for _ in 0..<lanes {
                startOne()
            }
        }
    }

    private func startOne() {
        session.dataTask(with: arguments.url) { [self] data, response, error in
            let failure =
                error.map { "\($0)" } ?? complaint(about: response, bytes: data?.count, expect: arguments.expect)
            finishOne(failure)
        }.resume()
    }

    private func finishOne(_ failure: String?) {
        let (another, finished) = state.withLock { state -> (Bool, CheckedContinuation<Tally, Never>?) in
            state.tally.note(failure)
            if state.toStart > 0 {
                state.toStart -= 1
                return (true, nil)
            }
            state.running -= 1
            return (false, state.running == 0 ? state.finished.take() : nil)
        }
        if another {
            startOne()
        }
        finished?.resume(returning: state.withLock { $0.tally })
    }
}
