import CurlTransport
import Foundation

/// Receives a `ResponseBody`'s content. All calls are on the loop.
///
/// Only `UpgradeTransfer` does so; with the protocol, its body depends on nothing else of it.
protocol ResponseBodyOwner: AnyObject {
    var isPaused: Bool { get }
    /// Whether more may be delivered now.
    var mayDeliver: Bool { get }
    /// The next bytes of the decoded body, valid until this returns. Throws if they can't be kept.
    func received(_ bytes: UnsafeRawBufferPointer) throws(URLError)
    /// Called after each turn of decoding.
    func bodyAdvanced()
    /// The last call.
    func bodyEnded(_ error: URLError?)
}

/// The body of a response that arrives on a channel: decoded, with its framing removed. Loop only.
final class ResponseBody {
    private enum State {
        case arriving
        /// All of it has arrived; some may still have to be decoded.
        case complete
        case closed
    }

    private var message: MessageBody
    private var decoding: BodyDecoding?
    private var state = State.arriving
    /// How much of it has arrived, in bytes: not decoded yet, but without its framing.
    private(set) var arrivedCount: Int64 = 0
    private let url: URL?
    private unowned let owner: any ResponseBodyOwner

    init(
        of head: ResponseHead,
        to request: URLRequest,
        on loop: EventLoop,
        isDecoded: Bool,
        owner: any ResponseBodyOwner
    ) throws(URLError) {
        url = request.url
        self.owner = owner
        do throws(MessageBody.Violation) {
            message = try MessageBody(after: head, method: request.httpMethod ?? "GET")
        } catch {
            throw Self.error(error, request.url)
        }
        guard isDecoded, !message.isComplete, head.status != 101 else { return }
        decoding = try BodyDecoding.make(for: head, at: request.url, on: loop, owner: self)
    }

    private static func error(_ violation: MessageBody.Violation, _ url: URL?) -> URLError {
        let failure = TransferFailure(code: .weirdServerReply, text: violation.description, phase: .receiving)
        return URLError(failure, url: url)
    }

    /// Whether more is to be read from the connection.
    var wantsBytes: Bool {
        guard case .arriving = state else { return false }
        return decoding?.isBusy != true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard case .arriving = state else { return }
        var input = bytes
        do {
            while let piece = try nextPiece(&input) {
                arrivedCount += Int64(piece.count)
                if let decoding { try decoding.receive(piece) } else { try owner.received(piece) }
            }
        } catch {
            return end(error)
        }
        if message.isComplete { complete() }
    }

    private func nextPiece(_ input: inout UnsafeRawBufferPointer) throws(URLError) -> UnsafeRawBufferPointer? {
        do throws(MessageBody.Violation) {
            return try message.next(&input)
        } catch {
            throw Self.error(error, url)
        }
    }

    /// - Parameter isTruncated: Whether TLS hasn't announced the connection's end.
    func reachedEnd(isTruncated: Bool) {
        guard case .arriving = state else { return }
        guard message.mayEnd else {
            let text = "The server closed the connection before the response's body was complete."
            return end(URLError(TransferFailure(code: .partialFile, text: text, phase: .receiving), url: url))
        }
        if isTruncated { return end(URLError(.truncatedTLS, url: url)) }
        complete()
    }

    /// Continues decoding if the owner had enough.
    func proceed() {
        decoding?.proceed()
    }

    private func complete() {
        state = .complete
        guard decoding?.isBusy != true else { return }
        do throws(URLError) {
            try decoding?.finish()
            end(nil)
        } catch {
            end(error)
        }
    }

    private func end(_ error: URLError?) {
        close()
        owner.bodyEnded(error)
    }

    /// Nothing is reported after this.
    func close() {
        state = .closed
        decoding?.end()
        decoding = nil
    }
}

extension ResponseBody: BodyDecodingOwner {
    var isPaused: Bool { owner.isPaused }
    var mayDecode: Bool { owner.mayDeliver }

    func decoded(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        try owner.received(bytes)
    }

    func decodingAdvanced() {
        if decoding?.isBusy == false, case .complete = state { return complete() }
        owner.bodyAdvanced()
    }

    func decodingFailed(_ error: URLError) {
        end(error)
    }
}
