import CurlTransport
import Foundation

/// Receives the bytes that a `BodyDecoding` decodes. All calls are on the loop.
protocol BodyDecodingOwner: AnyObject {
    /// Whether it calls `proceed()` before it takes more.
    var isPaused: Bool { get }
    /// Whether more may be delivered now.
    var mayDecode: Bool { get }

    /// The next bytes of the decoded body, valid until this returns. Throws if they can't be kept.
    func decoded(_ bytes: UnsafeRawBufferPointer) throws(URLError)

    /// Called after each turn, outside of libcurl, even if nothing was decoded because `mayDecode` was false.
    func decodingAdvanced()

    /// Called when the body can't be decoded any further. The last call. Outside of libcurl.
    func decodingFailed(_ error: URLError)
}

/// Decodes the content codings of one response's body, if it has any, and stops while the consumer is behind or hasn't decided about the
/// body. Loop only.
///
/// Bytes are decoded on arrival as far as the loop's round allows. The rest waits here for later turns, between which the loop serves other
/// transfers, or for the consumer. Steps that could take long run on another thread, one at a time.
///
/// `@unchecked Sendable`: everything is touched only on the loop; the other thread gets a `DistantStep`.
final class BodyDecoding: DecodingTurn, @unchecked Sendable {
    private enum State {
        /// All bytes that have arrived are decoded.
        case idle
        /// Bytes wait for the next turn.
        case waiting
        /// Another thread is decoding some of the body.
        case elsewhere
        /// Bytes wait until the owner calls `proceed()`.
        case stopped
        /// Bytes wait until the owner calls `release()`.
        case kept
        /// Over: nothing more is decoded.
        case ended
    }

    private let codings: [ContentCoding]
    private let url: URL?
    /// Whether the response is a part (206), so that its coded data may end anywhere.
    private let isPart: Bool
    private let loop: EventLoop
    private weak var owner: (any BodyDecodingOwner)?
    private var state = State.idle
    /// Created for the first byte.
    private var decoder: ContentDecoder?
    private var input = CodedInput()
    /// Whether there is room for more of a body that is kept, as far as is known.
    private(set) var mayKeep = true
    /// For steps that may take long.
    private lazy var queue = loop.decodingTurns.assignQueue()

    /// Of a body that isn't encoded, so that it can be kept.
    static func ofPlainBody(
        after head: ResponseHead,
        at url: URL?,
        on loop: EventLoop,
        owner: any BodyDecodingOwner
    ) -> BodyDecoding {
        BodyDecoding([], of: head, at: url, on: loop, owner: owner)
    }

    /// nil if the body isn't encoded.
    static func make(
        for head: ResponseHead,
        at url: @autoclosure () -> URL?,
        on loop: EventLoop,
        owner: any BodyDecodingOwner
    ) throws(URLError) -> BodyDecoding? {
        switch head.contentCoding {
        case .none: return nil
        case .codings(let codings): return BodyDecoding(codings, of: head, at: url(), on: loop, owner: owner)
        case .tooMany(let count):
            throw URLError(.cannotDecodeContentData, url: url(), "The response's body has \(count) content codings.")
        }
    }

    private init(
        _ codings: [ContentCoding],
        of head: ResponseHead,
        at url: URL?,
        on loop: EventLoop,
        owner: any BodyDecodingOwner
    ) {
        self.codings = codings
        self.url = url
        isPart = head.status == 206
        self.loop = loop
        self.owner = owner
    }

    /// Whether some of the received bytes have yet to be decoded.
    var isBusy: Bool {
        switch state {
        case .idle, .ended: false
        case .waiting, .elsewhere, .stopped, .kept: true
        }
    }

    /// Whether it waits for the owner to call `proceed()`.
    private var isStopped: Bool { if case .stopped = state { true } else { false } }

    var isOfPlainBody: Bool { codings.isEmpty }

    /// The received bytes that have yet to be decoded.
    var waitingCount: Int { input.count }

    /// Whether more is waiting than libcurl delivers between two checks of its pause flag.
    var isFull: Bool { waitingCount > Self.maximumInput }

    /// In bytes: slightly more than libcurl delivers at once through a small `ReceiveBuffer`.
    private static let maximumInput = 2 << 20

    /// The next bytes, still encoded. Within libcurl.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        switch state {
        case .idle: try decodeAtOnce(bytes)
        case .waiting, .elsewhere, .stopped, .kept: input.append(bytes)
        case .ended: break
        }
    }

    /// The next bytes, while the owner hasn't decided about the body: they wait until it calls `release()`. False if they would be more
    /// than is kept. Within libcurl.
    func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        mayKeep = waitingCount + bytes.count <= UnwantedBody.maximumLength
        guard mayKeep else { return false }
        input.append(bytes)
        if case .idle = state { state = .kept }
        return true
    }

    /// Called when the owner wants the body after all.
    func release() {
        if case .kept = state { wait() }
    }

    /// Called at the end of the body. Throws if it is incomplete in its codings.
    func finish() throws(URLError) {
        guard !isPart, let decoder else { return }
        try result { () throws(ContentDecodingError) in try decoder.finish() }.get()
    }

    /// Called when the owner can take more.
    func proceed() {
        if case .stopped = state { wait() }
    }

    /// Lets the owner act on what it has received. If it had enough, but has caught up by then, decoding goes on.
    func report() {
        owner?.decodingAdvanced()
        if isStopped, owner?.isPaused == false { proceed() }
    }

    /// Called when the owner wants nothing more.
    func end() {
        state = .ended
        input = CodedInput()
        decoder = nil
        owner = nil
    }

    // MARK: - At once

    /// Decodes as much as there is time and room for, and keeps the rest.
    private func decodeAtOnce(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        let decoder = try makeDecoder()
        var rest = bytes
        var hasMore = !bytes.isEmpty
        while hasMore, !decoder.mayTakeLong(before: rest), loop.decodingTurns.hasTimeLeft, let owner, owner.mayDecode {
            let step = try decode(rest, with: decoder)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
            hasMore = step.hasMore
        }
        guard hasMore else { return }
        input.append(rest)
        wait()
    }

    private func makeDecoder() throws(URLError) -> ContentDecoder {
        if let decoder { return decoder }
        let decoder = try result { () throws(ContentDecodingError) in try ContentDecoder(codings) }.get()
        self.decoder = decoder
        return decoder
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer,
        with decoder: ContentDecoder
    ) throws(URLError) -> ContentDecoder.Step {
        let turns = loop.decodingTurns
        let step = try result { () throws(ContentDecodingError) in try decoder.decode(bytes, into: turns.buffer) }.get()
        turns.spend(step.work)
        if step.produced > 0 {
            try owner?.decoded(UnsafeRawBufferPointer(rebasing: turns.buffer.prefix(step.produced)))
        }
        return step
    }

    // MARK: - In turns

    private func wait() {
        state = .waiting
        loop.decodingTurns.enqueue(self)
    }

    func takeTurn() {
        guard case .waiting = state, let owner else { return }
        guard owner.mayDecode else {
            state = .stopped
            return report()
        }
        let first = input.first
        do throws(URLError) {
            let decoder = try makeDecoder()
            if first.withUnsafeBytes({ decoder.mayTakeLong(before: $0) }) { return decodeElsewhere(decoder) }
            advance(by: try first.withBytes { bytes throws(URLError) in try decode(bytes, with: decoder) })
        } catch {
            fail(error)
        }
    }

    private func advance(by step: ContentDecoder.Step) {
        input.drop(step.consumed)
        // The bytes just delivered may have made the owner end this.
        guard isBusy else { return }
        if step.hasMore || !input.isEmpty { wait() } else { state = .idle }
        report()
    }

    private func fail(_ error: URLError) {
        let owner = self.owner
        end()
        owner?.decodingFailed(error)
    }

    private func result<Success>(
        _ body: () throws(ContentDecodingError) -> Success
    ) -> Result<Success, URLError> {
        do throws(ContentDecodingError) {
            return .success(try body())
        } catch {
            let code: URLError.Code = error.reason == .outOfMemory ? .unknown : .cannotDecodeRawData
            return .failure(URLError(code, url: url, error.description))
        }
    }

    // MARK: - On another thread

    private func decodeElsewhere(_ decoder: ContentDecoder) {
        state = .elsewhere
        let step = DistantStep(decoder, input.first)
        queue.async { [self, loop] in
            step.run()
            loop.submit { self.returned(step) }
        }
    }

    private func returned(_ distant: DistantStep) {
        guard case .elsewhere = state, let outcome = distant.result else { return }
        defer { withExtendedLifetime(distant) {} }
        do throws(URLError) {
            let step = try result { () throws(ContentDecodingError) in try outcome.get() }.get()
            if let bytes = distant.bytes { try owner?.decoded(bytes) }
            advance(by: step)
        } catch {
            fail(error)
        }
    }
}

/// One step of decoding, done on another thread.
///
/// `@unchecked Sendable`: it and its decoder are used by one thread at a time: the loop, then another thread, then the loop again.
private final class DistantStep: @unchecked Sendable {
    private let decoder: ContentDecoder
    private let input: Data
    private var output: UnsafeMutableRawBufferPointer?
    /// nil until done.
    private(set) var result: Result<ContentDecoder.Step, ContentDecodingError>?

    init(_ decoder: ContentDecoder, _ input: Data) {
        self.decoder = decoder
        self.input = input
    }

    deinit {
        output?.deallocate()
    }

    func run() {
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 16)
        self.output = output
        result = input.withUnsafeBytes { bytes in
            Result { () throws(ContentDecodingError) in try decoder.decode(bytes, into: output) }
        }
    }

    /// The decoded bytes, valid as long as this object lives; nil for none.
    var bytes: UnsafeRawBufferPointer? {
        guard let output, case .success(let step) = result, step.produced > 0 else { return nil }
        return UnsafeRawBufferPointer(rebasing: output.prefix(step.produced))
    }
}
