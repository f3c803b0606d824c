import CurlTransport
import Foundation

// A coded body on its way through its decoders. The transfer is paused as long as something that came has yet to be decoded, and one that is
// over completes when everything is.

extension HTTPTransfer: BodyDecodingOwner {
    var mayDecode: Bool { !isPaused && delegate.transferMayDeliver(self) }

    func decoded(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        try deliver(bytes)
    }

    func decodingAdvanced() {
        guard let decoding else { return }
        noteActivity()
        if decoding.isBusy { return settleDecoding(decoding) }
        if let decodingEnding { return complete(decodingEnding.failure) }
        delegate.transferSettled(self)
        if !isPaused { continueTransfer() }
    }

    /// Lets the delegate act on what it was given: it may pause the transfer, or end it.
    func settleDecoding(_ decoding: BodyDecoding) {
        delegate.transferSettled(self)
        // It had enough, but has caught up already.
        if decoding.isStopped, !isPaused { decoding.proceed() }
    }

    func decodingFailed(_ error: URLError) {
        abortError = error
        let phase = self.phase
        cancel()
        finish(error.with(phase: phase))
    }

    /// Keeps libcurl from bringing more, for as long as there is something to decode. Outside of libcurl.
    func pauseForDecoding() {
        guard let decoding, decoding.isBusy else { return }
        // It fails where everything has come.
        _ = easy?.setPaused(true)
    }

    /// Whether the body, all of which has come, is complete in its codings.
    func decodingError() -> URLError? {
        do throws(URLError) {
            try decoding?.finish()
            return nil
        } catch {
            return error.with(phase: .receiving)
        }
    }
}
