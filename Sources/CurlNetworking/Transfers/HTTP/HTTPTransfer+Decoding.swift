import CurlTransport
import Foundation

// The decoding of an encoded body. The transfer is paused while received bytes have yet to be decoded; if it has already ended, it
// completes once they are.

extension HTTPTransfer: BodyDecodingOwner {
    var mayDecode: Bool { !isPaused && delegate.transferMayDeliver(self) }

    func decoded(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        try deliver(bytes)
    }

    func decodingAdvanced() {
        guard let decoding else { return }
        noteActivity()
        if !decoding.isBusy, case .draining(let failure) = stage { return complete(failure) }
        // The delegate may pause the transfer, or end it.
        delegate.transferSettled(self)
        continueTransfer()
    }

    func decodingFailed(_ error: URLError) {
        abortError = error
        let phase = self.phase
        cancel()
        finish(error.with(phase: phase))
    }

    /// Keeps libcurl from delivering more until everything is decoded. Outside of libcurl.
    func pauseForDecoding() {
        guard awaitsDecoding else { return }
        // Fails if everything has arrived.
        _ = easy?.setPaused(true)
    }

    /// Checks that the body, which has fully arrived, is complete in its codings.
    func decodingError() -> URLError? {
        do throws(URLError) {
            try decoding?.finish()
            return nil
        } catch {
            return error.with(phase: .receiving)
        }
    }
}
