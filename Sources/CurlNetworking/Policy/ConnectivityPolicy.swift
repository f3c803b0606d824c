import Curl
import Foundation

/// Which failures mean that there is no way to the host just now, so that waiting for one makes sense.
enum ConnectivityPolicy {
    /// `phase` is how far the transfer had come. Once it has a connection, no failure is one of these: what was sent may
    /// have been acted upon.
    static func isLackOfConnectivity(_ code: URLError.Code, in phase: TransferPhase?) -> Bool {
        switch phase {
        case .resolving, .connecting, .preparing, nil: break
        case .securing, .sending, .receiving: return false
        }
        switch code {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet: return true
        // An attempt that nobody has answered; what is only prepared has made none.
        case .timedOut: return phase == .resolving || phase == .connecting
        default: return false
        }
    }
}
