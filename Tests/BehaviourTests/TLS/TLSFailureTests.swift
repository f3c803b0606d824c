import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("A server's certificate that is no good", .timeLimit(.minutes(1)))
struct TLSFailureTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let certificate: TLSSite.Certificate
        let code: URLError.Code
        let problem: CertificateProblem
        let words: String

        var testDescription: String { certificate.rawValue }
    }

    static let cases = [
        Case(certificate: .expired, code: .serverCertificateHasBadDate, problem: .expired, words: "expired"),
        Case(certificate: .early, code: .serverCertificateNotYetValid, problem: .notYetValid, words: "not yet valid"),
        Case(certificate: .unknown, code: .serverCertificateHasUnknownRoot, problem: .unknownRoot, words: "issuer"),
        Case(certificate: .selfsigned, code: .serverCertificateHasUnknownRoot, problem: .unknownRoot, words: "self"),
        Case(certificate: .wronghost, code: .serverCertificateUntrusted, problem: .wrongHost, words: "127.0.0.1"),
    ]

    @Test(
        "A bad certificate fails the task with a code of its own and OpenSSL's reason, and no request is sent",
        arguments: cases
    )
    func bad(testCase: Case) async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let path = "/\(UUID().uuidString)"
        let error = try #require(await session.load(nginx.url(.showing(testCase.certificate), path)).error)
        #expect(error.code == testCase.code)
        #expect(error.certificateProblem == testCase.problem)
        #expect(error.curlText?.contains(testCase.words) == true, "\(error.curlText ?? "")")
        #expect(error.curlCode == .peerFailedVerification)
        #expect(error.phase == "securing")
        #expect(try await nginx.requests(to: path) == 0)
    }

    @Test("A revoked certificate fails the task only with a revocation list, with which others still pass")
    func revoked() async throws {
        let nginx = try TLSNginx.shared()
        let careless = URLSession.trusting(nginx)
        defer { careless.invalidateAndCancel() }
        #expect(await careless.load(nginx.url(.showing(.revoked))).response?.statusCode == 200)
        let careful = URLSession.trusting(nginx) { $0.tls.revocationLists = [nginx.site.revocationList] }
        defer { careful.invalidateAndCancel() }
        let error = try #require(await careful.load(nginx.url(.showing(.revoked))).error)
        #expect(error.code == .serverCertificateUntrusted)
        #expect(error.certificateProblem == .revoked)
        #expect(error.userInfo[CurlErrorKey.verification] as? Int == 23)
        #expect(await careful.load(nginx.url(.showing(.good))).response?.statusCode == 200)
    }

    @Test("The errors of other failures name no problem with a certificate")
    func others() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx) { $0.tls.minimumVersion = .TLSv13 }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(nginx.url(.old)).error)
        #expect(error.code == .secureConnectionFailed)
        #expect(error.certificateProblem == nil)
        #expect(error.userInfo[CurlErrorKey.verification] == nil)
    }
}
