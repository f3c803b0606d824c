import CurlTransport
import Foundation

@testable import CurlNetworking

/// A queue whose readers and writers are names, and whose clock the test moves. Each call returns in words what there is to do.
struct StreamQueueRig {
    var queue = StreamQueue<String, String>()
    private(set) var seconds = 0

    static let lost = StreamFailure.task(URLError(.networkConnectionLost))
    static let cancelled = StreamFailure.task(URLError(.cancelled))

    private static let start = MonotonicTime.now
    private var now: MonotonicTime { Self.start + .seconds(seconds) }

    private mutating func act(_ call: (inout StreamQueue<String, String>) -> Void) -> [String] {
        call(&queue)
        var words: [String] = []
        while let action = queue.next() { words.append(Self.words(for: action)) }
        return words
    }

    @discardableResult
    mutating func open() -> [String] { act { [now] in $0.opened(at: now) } }

    @discardableResult
    mutating func read(
        _ minimum: Int,
        _ maximum: Int,
        _ name: String,
        timeout: Int? = nil,
        takesBytesOnFailure takes: Bool = true
    ) -> [String] {
        act { [now] in
            let timeout = timeout.map { Duration.seconds($0) }
            $0.read(minimum, maximum, timeout: timeout, name, takesBytesOnFailure: takes, at: now)
        }
    }

    @discardableResult
    mutating func write(_ text: String, _ name: String, timeout: Int? = nil) -> [String] {
        act { [now] in $0.write(Data(text.utf8), timeout: timeout.map { .seconds($0) }, name, at: now) }
    }

    @discardableResult
    mutating func receive(_ text: String) -> [String] { act { [now] in $0.received(Data(text.utf8), at: now) } }

    @discardableResult
    mutating func receiveEnd() -> [String] { act { [now] in $0.receivedEnd(at: now) } }

    @discardableResult
    mutating func wrote(_ count: Int) -> [String] { act { [now] in $0.wrote(count, at: now) } }

    @discardableResult
    mutating func closeRead() -> [String] { act { [now] in $0.closeRead(at: now) } }

    @discardableResult
    mutating func closeWrite() -> [String] { act { [now] in $0.closeWrite(at: now) } }

    @discardableResult
    mutating func add(_ transition: StreamQueue<String, String>.Transition) -> [String] {
        act { [now] in $0.add(transition, at: now) }
    }

    @discardableResult
    mutating func transitionEnded() -> [String] { act { [now] in $0.transitionEnded(at: now) } }

    @discardableResult
    mutating func limitTransition(to seconds: Int?) -> [String] {
        act { [now] in $0.limitTransition(to: seconds.map { .seconds($0) }, at: now) }
    }

    @discardableResult
    mutating func setPaused(_ isPaused: Bool) -> [String] { act { [now] in $0.setPaused(isPaused, at: now) } }

    /// The clock shows so many seconds.
    @discardableResult
    mutating func pass(_ seconds: Int) -> [String] {
        self.seconds = seconds
        return act { [now] in $0.timePassed(now) }
    }

    @discardableResult
    mutating func fail(_ failure: StreamFailure = Self.lost) -> [String] { act { $0.fail(failure) } }

    var unwritten: String? { queue.unwritten.map { String(decoding: $0, as: UTF8.self) } }

    /// In seconds from the start.
    var end: Int? { queue.nextEnd.map { Int(($0 - Self.start).components.seconds) } }

    private static func words(for action: StreamQueue<String, String>.Action) -> String {
        switch action {
        case .finishRead(let name, .read(let data, let isAtEnd)):
            "\(name): \(String(decoding: data, as: UTF8.self))\(isAtEnd ? " at the end" : "")"
        case .finishRead(let name, .failed(let failure, let data)):
            "\(name): \(words(for: failure))" + (data.isEmpty ? "" : " with \(String(decoding: data, as: UTF8.self))")
        case .finishWrite(let name, nil): "\(name) written"
        case .finishWrite(let name, let failure?): "\(name) failed: \(words(for: failure))"
        case .closeWriting: "close writing"
        case .tellReadClosed: "read closed"
        case .tellWriteClosed: "write closed"
        case .begin(let transition): "begin \(transition)"
        case .timeOutTransition: "transition timed out"
        case .end: "end"
        }
    }

    private static func words(for failure: StreamFailure) -> String {
        switch failure {
        case lost: "lost"
        case cancelled: "cancelled"
        default: "\(failure)"
        }
    }
}
