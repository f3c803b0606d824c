import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// Holds an event loop up: the one on which a request for a certain path is about to start.
package struct LoopHold: Sendable {
    /// Opens when the loop is held up.
    package let isHeldUp = Gate()
    private let gate = Gate()
    private let path: String

    package init(at path: String = "/hold") {
        self.path = path
    }

    /// What the configuration did there before still happens.
    package func install(in configuration: URLSessionConfiguration) {
        let former = configuration.curl.configureTransfer
        configuration.curl.configureTransfer = { [isHeldUp, gate, path] transfer, request in
            try former?(&transfer, request)
            guard request.url?.path == path else { return }
            isHeldUp.open()
            gate.waitBlocking()
        }
    }

    /// Lets the loop continue.
    package func end() {
        gate.open()
    }
}
