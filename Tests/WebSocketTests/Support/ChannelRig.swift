import CurlNetworkingLoopbackServer
import CurlNetworkingLocks
import Foundation
import TestSupport

@testable import CurlTransport

/// A channel on an event loop, for tests of channels alone. Opened when made.
///
/// `@unchecked Sendable`: `multi` and `channel` are touched on the loop alone.
final class ChannelRig: @unchecked Sendable {
    /// Loops are never freed.
    static let loop = EventLoop(label: "WebSocketTests.loop")

    let recorder: ChannelRecorder
    private var multi: Multi?
    private var channel: Channel?
    private let ownsMulti: Bool

    /// Throws where the connection can't be made.
    ///
    /// - Parameter other: Whose multi is used.
    init(
        _ url: URL,
        _ limits: ConnectionLimits = ConnectionLimits(kept: 100),
        sharing other: ChannelRig? = nil,
        profile: ConnectionProfile? = nil,
        isPlain: Bool = false,
        recorder: ChannelRecorder = ChannelRecorder()
    ) async throws {
        self.recorder = recorder
        ownsMulti = other == nil
        try await Self.loop.perform { [self] in
            let multi = try other?.multi ?? Multi(loop: Self.loop, limits: limits)
            self.multi = multi
            var options = ChannelOptions(url: url.absoluteString, .none)
            options.connection = profile
            options.isPlain = isPlain
            channel = try Channel(options, in: multi, delegate: recorder)
        }
        try await recorder.settled.wait()
        guard let failure = recorder.failure else { return }
        await closeMulti()
        throw failure
    }

    /// Calls `body` on the loop.
    @discardableResult
    func perform<Result: Sendable>(_ body: @escaping @Sendable (Channel) -> Result) async -> Result? {
        await Self.loop.perform { [self] in channel.map(body) }
    }

    /// How many rounds the loop begins while nothing is asked of it, up to `most`, in 200 ms.
    func rounds(upTo most: Int) async -> Int {
        let count = Watched(0)
        let isOver = Watched(false)
        @Sendable func countRound() {
            guard count.value < most, !isOver.value else { return isOver.update { $0 = true } }
            count.update { $0 += 1 }
            Self.loop.atEndOfRound(countRound)
        }
        let end = Deadline { isOver.update { $0 = true } }
        nonisolated(unsafe) let deadline = end
        await perform { _ in
            Self.loop.schedule(deadline, at: Self.loop.now + .milliseconds(200))
            countRound()
        }
        try? await isOver.wait { $0 }
        await perform { _ in Self.loop.cancel(deadline) }
        return count.value
    }

    func send(_ data: Data) async {
        await perform { channel in
            data.withUnsafeBytes { channel.send($0) }
            channel.flush()
        }
    }

    /// As if libcurl had said so.
    func runOutOfMemory() async {
        await Self.loop.perform { [self] in multi?.ranOutOfMemory() }
    }

    func close() async {
        await perform { $0.close() }
        if ownsMulti { await closeMulti() }
    }

    func closeMulti() async {
        await Self.loop.perform { [self] in
            multi?.close()
            multi = nil
        }
    }
}

/// Keeps what a channel reports.
final class ChannelRecorder: ChannelDelegate, Sendable {
    private struct State {
        var bytes = Data()
        var failure: TransferFailure?
        var waiting: (count: Int, gate: Gate)?
    }

    private let state = Mutex(State())
    /// Whether the first bytes are enough.
    private let readsOnce: Bool
    /// The connection stands, or can't be made.
    let settled = Gate()
    let ended = Gate()
    let failed = Gate()

    init(readsOnce: Bool = false) {
        self.readsOnce = readsOnce
    }

    var bytes: Data { state.withLock { $0.bytes } }
    var failure: TransferFailure? { state.withLock { $0.failure } }

    /// The first bytes, when there are so many.
    func received(_ count: Int) async throws -> Data {
        let gate = Gate()
        state.withLock { state in
            if state.bytes.count >= count { gate.open() } else { state.waiting = (count, gate) }
        }
        try await gate.wait()
        return bytes
    }

    func channelOpened(_ channel: Channel) { settled.open() }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        if readsOnce { channel.setReading(false) }
        state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            if let waiting = state.waiting, state.bytes.count >= waiting.count { waiting.gate.open() }
        }
    }

    func channelReachedEnd(_ channel: Channel) { ended.open() }
    func channelSentAll(_ channel: Channel) {}

    func channel(_ channel: Channel, failed failure: TransferFailure) {
        state.withLock { $0.failure = failure }
        settled.open()
        failed.open()
    }
}
