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
