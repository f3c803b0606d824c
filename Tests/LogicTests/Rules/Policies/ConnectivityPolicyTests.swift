import CCurlNetworkingLibcurl
import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Which failures mean that there is no way to the host")
struct ConnectivityPolicyTests {
    @Test(
        "A host without an address, unreachable, or refusing is a lack of connectivity",
        arguments: [URLError.Code.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet]
    )
    func lacking(code: URLError.Code) {
        #expect(ConnectivityPolicy.isLackOfConnectivity(code, in: .resolving))
        #expect(ConnectivityPolicy.isLackOfConnectivity(code, in: .connecting))
        for phase in [TransferPhase.securing, .sending, .receiving] {
            #expect(!ConnectivityPolicy.isLackOfConnectivity(code, in: phase))
        }
    }

    @Test("A time-out is a lack of connectivity only while an attempt to connect is under way")
    func timedOut() {
        for phase in TransferPhase.allCases {
            let isAttempt = phase == .resolving || phase == .connecting
            #expect(ConnectivityPolicy.isLackOfConnectivity(.timedOut, in: phase) == isAttempt)
        }
        #expect(!ConnectivityPolicy.isLackOfConnectivity(.timedOut, in: nil))
    }

    @Test("A proxy that refuses a tunnel is no lack of connectivity")
    func refusedTunnel() {
        for status in [nil, 503] as [Int?] {
            var info: [String: Any] = [CurlErrorKey.phase: TransferPhase.connecting.rawValue]
            info[CurlErrorKey.proxyStatus] = status
            let error = URLError(.cannotConnectToHost, userInfo: info)
            #expect(ConnectivityPolicy.isLackOfConnectivity(error) == (status == nil))
        }
    }

    @Test("A SOCKS proxy that doesn't reach the host is a lack of connectivity, and one that forbids it isn't")
    func refusedBySOCKS() {
        for (reason, isLack) in [(CURLPX_REPLY_NOT_ALLOWED, false), (CURLPX_REPLY_HOST_UNREACHABLE, true)] {
            var failure = TransferFailure(code: .proxy, text: "no", phase: .connecting)
            failure.proxyReason = Int(reason.rawValue)
            let error = URLError(failure, url: nil)
            #expect(error.code == .cannotConnectToHost)
            #expect(error.userInfo[CurlErrorKey.proxyReason] as? Int == Int(reason.rawValue))
            #expect(ConnectivityPolicy.isLackOfConnectivity(error) == isLack && error.isTransient == isLack)
        }
    }

    @Test("A transfer has sent nothing of its request before it can")
    func beforeRequest() {
        for phase in TransferPhase.allCases {
            let isBefore = phase == .resolving || phase == .connecting || phase == .securing
            #expect(ConnectivityPolicy.isBeforeRequest(phase) == isBefore)
        }
        #expect(!ConnectivityPolicy.isBeforeRequest(nil))
    }

    @Test(
        "No other failure is a lack of connectivity",
        arguments: [
            URLError.Code.networkConnectionLost, .secureConnectionFailed, .serverCertificateUntrusted,
            .badServerResponse, .cancelled, .badURL, .unknown,
        ]
    )
    func others(code: URLError.Code) {
        for phase in TransferPhase.allCases { #expect(!ConnectivityPolicy.isLackOfConnectivity(code, in: phase)) }
    }
}
