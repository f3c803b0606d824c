import Foundation
import CurlNetworkingLoopbackServer
import TestSupport

@testable import CurlTransport

/// A multi on an event loop, for tests that use libcurl without URLSession.
///
/// `@unchecked Sendable`: `multi` is touched on the loop alone.
final class LoopRig: @unchecked Sendable {
    /// Loops are never freed.
    static let loop = EventLoop(label: "ComponentTests.loop")

    let loop = LoopRig.loop
    private var multi: Multi?

    private init() {}

    /// Calls `body` with a rig whose multi is closed after it, however it ends.
    @discardableResult
    static func use<Result>(
        _ limits: ConnectionLimits = ConnectionLimits(kept: 100),
        quirks: CurlQuirks = .current,
        _ body: (LoopRig) async throws -> Result
    ) async throws -> Result {
        let rig = LoopRig()
        try await rig.open(limits, quirks)
        do {
            let result = try await body(rig)
            await rig.close()
            return result
        } catch {
            await rig.close()
            throw error
        }
    }

    private func open(_ limits: ConnectionLimits, _ quirks: CurlQuirks) async throws {
        try await loop.perform { [self] in multi = try Multi(loop: loop, limits: limits, quirks: quirks) }
    }

    func close() async {
        await loop.perform { [self] in
            multi?.close()
            multi = nil
        }
    }

    /// Calls `body` on the loop, with the multi.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (Multi) throws -> Result) async throws -> Result {
        try await loop.perform { [self] in
            guard let multi else { throw CancellationError() }
            return try body(multi)
        }
    }

    /// Starts a transfer.
    func start(_ transfer: RecordedTransfer, _ options: TransferOptions) async throws {
        try await perform { multi in try transfer.start(options, in: multi) }
    }

    /// Runs a transfer to its end.
    @discardableResult
    func run(_ transfer: RecordedTransfer, _ options: TransferOptions) async throws -> RecordedTransfer {
        try await start(transfer, options)
        try await transfer.finished.wait()
        return transfer
    }
}

/// A handler that keeps what it hears, and acts as its test says.
///
/// `@unchecked Sendable`: everything is the loop's, but for the gates, and for tests that have waited for `finished`.
final class RecordedTransfer: TransferHandler, @unchecked Sendable {
    enum Event: Equatable {
        case headerLine, body, needsBody, rewind, settled, finished
    }

    private(set) var lines: [String] = []
    private(set) var body = Data()
    private(set) var events: [Event] = []
    private(set) var failure: TransferFailure?
    private(set) var finishedCount = 0
    let finished = Gate()

    var requestBody = Data()
    private var sent = 0
    /// In bytes: what libcurl had room for when it asked for some of the body.
    private(set) var largestBuffer = 0
    /// In bytes: what it received of the body at once.
    private(set) var largestPiece = 0
    /// What a callback answers, the transfer aside.
    var verdict: (Event) -> ReceiveVerdict = { _ in .accepted }
    /// Called in `transferSettled()` with what was heard since it was last called.
    var onSettled: (RecordedTransfer, [Event]) -> Void = { _, _ in }
    var onFinished: (RecordedTransfer) -> Void = { _ in }
    private var unsettled: [Event] = []

    private(set) var easy: EasyHandle?
    private(set) var multi: Multi?
    /// Something was called after the last call.
    private(set) var wasDisturbed = false

    init(requestBody: Data = Data()) {
        self.requestBody = requestBody
    }

    func start(_ options: some EasyOptions, in multi: Multi) throws {
        self.multi = multi
        easy = try multi.start(options, handler: self)
    }

    /// Loop.
    func cancel() {
        if let easy { multi?.cancel(easy) }
        isCancelled = true
        easy = nil
        finished.open()
    }

    private(set) var isCancelled = false

    private func hear(_ event: Event) {
        if isCancelled || finishedCount > 0 { wasDisturbed = true }
        events.append(event)
        if event != .settled, event != .finished { unsettled.append(event) }
    }

    func transferReceived(headerLine: UnsafeRawBufferPointer) -> ReceiveVerdict {
        hear(.headerLine)
        lines.append(String(decoding: headerLine, as: UTF8.self).trimmingCharacters(in: .newlines))
        return verdict(.headerLine)
    }

    func transferReceived(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        hear(.body)
        body.append(contentsOf: bytes)
        largestPiece = max(largestPiece, bytes.count)
        return verdict(.body)
    }

    func transferNeedsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        hear(.needsBody)
        largestBuffer = max(largestBuffer, buffer.count)
        guard verdict(.needsBody) == .accepted else { return .abort }
        let count = requestBody.dropFirst(sent).copyBytes(to: buffer)
        sent += count
        return .bytes(count)
    }

    func transferRewindsBody(to offset: Int64) -> Bool {
        hear(.rewind)
        sent = Int(offset)
        return true
    }

    func transferSettled() {
        hear(.settled)
        let heard = unsettled
        unsettled = []
        onSettled(self, heard)
    }

    func transferFinished(_ failure: TransferFailure?) {
        hear(.finished)
        self.failure = failure
        finishedCount += 1
        easy = nil
        onFinished(self)
        finished.open()
    }
}
