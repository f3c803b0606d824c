import Foundation

extension LoopbackServer {
    /// Where an answer goes wrong.
    package enum Fault: Sendable {
        /// Not one byte is sent.
        case beforeAnyByte
        /// The head stops in the middle of a field.
        case insideHead
        /// The head is complete and promises `length` bytes; none follows.
        case afterHead(length: Int64)
        /// `count` of `length` promised bytes follow, those of `GeneratedBody` with seed 0. A Content-Length that's too
        /// long, in other words.
        case insideBody(after: Int64, of: Int64)
        /// A chunked body stops within a chunk, after this many bytes of `GeneratedBody` with seed 0.
        case insideChunk(after: Int64)
        /// More bytes follow than the Content-Length says.
        case lengthTooShort(claimed: Int64, sent: Int64)
        /// A chunk's size isn't a number.
        case malformedChunk
        /// What follows isn't HTTP.
        case garbage
    }

    /// How an answer that went wrong ends.
    package enum FaultEnding: Sendable {
        /// FIN.
        case close
        /// RST.
        case reset
        /// Nothing: the connection stays open and silent.
        case hang

        fileprivate var step: Step {
            switch self {
            case .close: .close
            case .reset: .reset
            case .hang: .never
            }
        }
    }
}

extension LoopbackServer.Response {
    /// An answer that goes wrong.
    ///
    ///     .fault(.insideBody(after: 1000, of: 5000))
    ///     .fault(.insideHead, then: .hang)
    package static func fault(_ fault: LoopbackServer.Fault, then ending: LoopbackServer.FaultEnding = .close) -> Self {
        .raw(fault.steps + [ending.step])
    }
}

extension LoopbackServer.Fault {
    fileprivate var steps: [LoopbackServer.Step] {
        switch self {
        case .beforeAnyByte:
            []
        case .insideHead:
            [.bytes("HTTP/1.1 200 OK\r\nContent-Type: text/pl")]
        case .afterHead(let length):
            [head("Content-Length: \(length)")]
        case .insideBody(let count, let length):
            [head("Content-Length: \(length)"), .body(.generated(length: count))]
        case .insideChunk(let count):
            [
                head("Transfer-Encoding: chunked"), .bytes(String(count + 1, radix: 16) + "\r\n"),
                .body(.generated(length: count)),
            ]
        case .lengthTooShort(let claimed, let sent):
            [head("Content-Length: \(claimed)"), .body(.generated(length: sent))]
        case .malformedChunk:
            [head("Transfer-Encoding: chunked"), .bytes("hello\r\nworld\r\n")]
        case .garbage:
            [.bytes("This is no HTTP at all.\r\n\r\n")]
        }
    }

    private func head(_ framing: String) -> LoopbackServer.Step {
        .bytes("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\(framing)\r\n\r\n")
    }
}
