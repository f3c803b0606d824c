import CurlTransport
import Foundation

/// Which failures mean that the host can't be reached at present, so that the task may wait.
enum ConnectivityPolicy {
    static func isLackOfConnectivity(_ error: URLError) -> Bool {
        // A proxy that refuses to connect is reachable, so waiting would be pointless.
        guard error.userInfo[CurlErrorKey.proxyStatus] == nil, !error.isRefusedBySOCKSProxy else { return false }
        return isLackOfConnectivity(error.code, in: error.transferPhase)
    }

    /// `phase` is how far the transfer had got. Once there is a connection to the host, no failure counts: the server may have acted on the
    /// request.
    static func isLackOfConnectivity(_ code: URLError.Code, in phase: TransferPhase?) -> Bool {
        guard !hasConnection(in: phase) else { return false }
        switch code {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet: return true
        // Only if there was an attempt to connect.
        case .timedOut: return phase == .resolving || phase == .connecting
        default: return false
        }
    }

    /// Whether a transfer that got this far had a connection to the host.
    static func hasConnection(in phase: TransferPhase?) -> Bool {
        switch phase {
        case .resolving, .connecting, .preparing, nil: false
        case .securing, .sending, .receiving: true
        }
    }

    /// Whether a transfer that got this far was still on its way to the host, and had sent nothing of its request: looking up the name,
    /// connecting, at TLS, asking a proxy for a tunnel, or logging in to an FTP server.
    static func isBeforeRequest(_ phase: TransferPhase?) -> Bool {
        switch phase {
        case .resolving, .connecting, .securing: true
        case .preparing, .sending, .receiving, nil: false
        }
    }
}
