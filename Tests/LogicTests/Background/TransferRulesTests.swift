import CurlTransport
import Foundation
import Glibc
import Testing

@testable import CurlNetworking

@Suite("Errors after which an agent tries again")
struct TransferRulesTests {
    @Test("Errors of the network, and shortages of descriptors or memory, are transient")
    func transient() {
        for code in [URLError.Code.networkConnectionLost, .timedOut, .cannotFindHost] {
            #expect(URLError(code).isTransient)
        }
        for cause in [EMFILE, ENFILE, ENOMEM] {
            #expect(URLError(.cannotCreateFile, url: nil, "", cause: SystemError(code: cause)).isTransient)
        }
    }

    @Test("A proxy's refusal is lasting, and its own trouble with the way is transient")
    func proxies() {
        let lasting = [400, 403, 404, 405, 451]
        for status in lasting + [408, 429, 500, 502, 503, 504] {
            let isTransient = !lasting.contains(status)
            let error = URLError(.cannotConnectToHost, url: nil, "", details: [CurlErrorKey.proxyStatus: status])
            #expect(error.isTransient == isTransient, "\(status)")
        }
        for phase in TransferPhase.allCases {
            let error = URLError(.cannotConnectToHost, url: nil, "", details: [CurlErrorKey.phase: phase.rawValue])
            #expect(error.isTransient == (phase != .preparing))
        }
    }

    @Test("Errors about the server's answer, certificates or files are lasting")
    func lasting() {
        for code in [URLError.Code.badServerResponse, .cannotCreateFile, .serverCertificateUntrusted, .cancelled] {
            #expect(!URLError(code).isTransient)
        }
        for cause in [EACCES, ENOSPC, ENOENT] {
            #expect(!URLError(.cannotCreateFile, url: nil, "", cause: SystemError(code: cause)).isTransient)
        }
    }
}
