import CurlTransport
import Foundation

/// Hands the body to a Swift task that reads it as it arrives.
final class ReaderSink: Sink {
    private unowned let owner: any SinkOwner
    private let stream: ByteStream

    init(_ stream: ByteStream, _ owner: any SinkOwner) {
        self.stream = stream
        self.owner = owner
    }

    var bufferSize: Int? { ReceiveBuffer.small }

    func begin(_ response: AcceptedResponse) {
        let stream = stream
        owner.whenShown { stream.respond(response.response) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        owner.read(bytes, from: stream)
    }
}
