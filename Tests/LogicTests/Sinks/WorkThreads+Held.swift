import CurlNetworkingLoopbackServer
import TestSupport

@testable import CurlNetworking

/// For those with a single thread.
extension WorkThreads {
    /// Nothing happens on the thread until the gate opens.
    func hold() -> Gate {
        let gate = Gate()
        run { gate.waitBlocking() }
        return gate
    }

    /// Returns when the thread has done everything so far.
    func rest() async {
        await withCheckedContinuation { continuation in run { continuation.resume() } }
    }
}
