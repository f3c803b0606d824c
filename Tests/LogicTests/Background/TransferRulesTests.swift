import CurlTransport
import Foundation
import Glibc
import Testing

@testable import CurlNetworking

@Suite("Which errors an agent's next attempt may not meet again")
struct TransferRulesTests {
    @Test("The network's, and a shortage of what others give back, whatever it keeps from being done")
    func transient() {
        for code in [URLError.Code.networkConnectionLost, .timedOut, .cannotFindHost] {
            #expect(URLError(code).isTransient)
        }
        for cause in [EMFILE, ENFILE, ENOMEM] {
            #expect(URLError(.cannotCreateFile, nil, "", SystemError(code: cause)).isTransient)
        }
    }

    @Test("Not a proxy's refusal, but its own trouble with the way; nor what fails before anything is tried")
    func proxies() {
        let lasting = [400, 403, 404, 405, 451]
        for status in lasting + [408, 429, 500, 502, 503, 504] {
            let isTransient = !lasting.contains(status)
            let error = URLError(.cannotConnectToHost, nil, "", nil, [CurlErrorKey.proxyStatus: status])
            #expect(error.isTransient == isTransient, "\(status)")
        }
        for phase in TransferPhase.allCases {
            let error = URLError(.cannotConnectToHost, nil, "", nil, [CurlErrorKey.phase: phase.rawValue])
            #expect(error.isTransient == (phase != .preparing))
        }
    }

    @Test("Not the server's answers, and not what stays as it is")
    func lasting() {
        for code in [URLError.Code.badServerResponse, .cannotCreateFile, .serverCertificateUntrusted, .cancelled] {
            #expect(!URLError(code).isTransient)
        }
        for cause in [EACCES, ENOSPC, ENOENT] {
            #expect(!URLError(.cannotCreateFile, nil, "", SystemError(code: cause)).isTransient)
        }
    }
}
