import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation

/// Opens a gate when it is let go; as a session's delegate or anything else.
package final class ReleaseProbe: NSObject, URLSessionDataDelegate {
    private let released: Gate

    package init(_ released: Gate) {
        self.released = released
    }

    deinit {
        released.open()
    }
}
