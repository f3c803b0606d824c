@testable import CurlTransport
import Foundation

@testable import CurlNetworking

/// What a web socket's server sends after the handshake.
extension FuzzTarget {
    static let webSockets = [
        FuzzTarget("web-socket") { bytes in
            let whole = conversation { give in give(bytes) }
            let pieces = conversation { give in bytes.inTwoPieces(give) }
            precondition(whole == pieces, "where the bytes are cut makes no difference")
        },
        FuzzTarget("web-socket-deflate") { bytes in
            guard MessageInflater.isAvailable else { return }
            let whole = conversation(inflates: true) { give in give(bytes) }
            let pieces = conversation(inflates: true) { give in bytes.inTwoPieces(give) }
            precondition(whole == pieces, "where the bytes are cut makes no difference")
        },
        FuzzTarget(
            "web-socket-extensions",
            text: { text in
                guard let agreed = try? WebSocketCompression.agreed([text], on: .init()) else { return }
                precondition((8...15).contains(agreed.serverWindowBits) && (8...15).contains(agreed.clientWindowBits))
            }
        ),
        FuzzTarget("utf-8") { bytes in
            var validator = UTF8Validator()
            var isText = true
            bytes.inTwoPieces { piece in isText = isText && validator.append(piece) }
            precondition((isText && validator.isComplete) == (String(validating: bytes, as: UTF8.self) != nil))
        },
    ]

    /// In bytes, of a message. Less than what libFuzzer invents, so that there are longer ones.
    private static let largest = 1 << 10

    private enum Heard: Equatable {
        case event(WebSocketAssembler.Event)
        case violation(WebSocketViolation.Status)
    }

    private static func conversation(
        inflates: Bool = false,
        _ give: ((UnsafeRawBufferPointer) -> Void) -> Void
    ) -> [Heard] {
        let inflater = inflates ? MessageInflater(windowBits: 15, forgets: false) : nil
        var assembler = WebSocketAssembler(maximumMessageSize: largest, inflater: inflater)
        var heard: [Heard] = []
        give { bytes in
            if case .violation = heard.last { return }
            var input = bytes
            do throws(WebSocketViolation) {
                while let event = try assembler.next(&input) {
                    if case .message(let message) = event { precondition(message.count <= largest) }
                    heard.append(.event(event))
                }
                precondition(assembler.waitingCount <= largest)
            } catch {
                // If a compressed message has two faults, the bytes' cut decides which is met first.
                let isEither = inflates && error.status == .tooBig
                heard.append(.violation(isEither ? .invalidPayload : error.status))
            }
        }
        return heard
    }
}
