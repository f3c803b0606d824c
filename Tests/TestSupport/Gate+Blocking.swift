import Dispatch
import CurlNetworkingLoopbackServer

extension Gate {
    /// Blocks the calling thread until the gate is open: for delegate methods that pretend to be slow, never for Swift
    /// tasks.
    package func waitBlocking() {
        let semaphore = DispatchSemaphore(value: 0)
        whenOpen { semaphore.signal() }
        semaphore.wait()
    }
}
