import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// Holds an event loop up: the one on which a request for `/hold` is about to start.
package struct LoopHold: Sendable {
    /// Opens when the loop is held up.
    package let isHeldUp = Gate()
    private let gate = Gate()

    package init() {}

    package func install(in configuration: URLSessionConfiguration) {
        configuration.curl.configureTransfer = { [isHeldUp, gate] _, request in
            guard request.url?.path == "/hold" else { return }
            isHeldUp.open()
            gate.waitBlocking()
        }
    }

    /// Lets the loop continue.
    package func end() {
        gate.open()
    }
}
