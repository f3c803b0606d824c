import Foundation
import CurlNetworkingLoopbackServer

/// Runs `body` over and over on several new threads until `gate` is open; returns when all have stopped.
package func hammer(threads count: Int, until gate: Gate, _ body: @escaping @Sendable (_ thread: Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for index in 0..<count {
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        while !gate.isOpen { body(index) }
                        continuation.resume()
                    }
                }
            }
        }
    }
}

/// Calls `body` on its own thread.
package func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread(body)
}
