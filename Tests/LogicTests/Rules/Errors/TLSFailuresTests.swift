import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("What the failures of TLS mean")
struct TLSFailuresTests {
    private static func failure(_ code: CurlCode, _ verification: Int, _ text: String = "") -> TransferFailure {
        var failure = TransferFailure(code: code, text: text, phase: .securing)
        failure.verification = verification
        return failure
    }

    static let verifications: [(Int, CertificateProblem, URLError.Code)] = [
        (10, .expired, .serverCertificateHasBadDate), (14, .expired, .serverCertificateHasBadDate),
        (9, .notYetValid, .serverCertificateNotYetValid), (13, .notYetValid, .serverCertificateNotYetValid),
        (2, .unknownRoot, .serverCertificateHasUnknownRoot), (18, .unknownRoot, .serverCertificateHasUnknownRoot),
        (19, .unknownRoot, .serverCertificateHasUnknownRoot), (20, .unknownRoot, .serverCertificateHasUnknownRoot),
        (21, .unknownRoot, .serverCertificateHasUnknownRoot), (23, .revoked, .serverCertificateUntrusted),
        (62, .wrongHost, .serverCertificateUntrusted), (64, .wrongHost, .serverCertificateUntrusted),
        (26, .other(26), .serverCertificateUntrusted), (1, .other(1), .serverCertificateUntrusted),
    ]

    @Test("Each of OpenSSL's reasons has its problem and its code", arguments: verifications)
    func verification(number: Int, problem: CertificateProblem, code: URLError.Code) {
        let error = URLError(Self.failure(.peerFailedVerification, number, "SSL certificate problem: words"), url: nil)
        #expect(error.code == code)
        #expect(error.certificateProblem == problem)
        #expect(error.userInfo[CurlErrorKey.verification] as? Int == number)
    }

    @Test(
        "libcurl's own comparison of the host is known by its words, and has OpenSSL's number",
        arguments: [
            ("SSL: no alternative certificate subject name matches target host name '127.0.0.1'", 64),
            ("SSL: no alternative certificate subject name matches target ipv6 address '::1'", 64),
            ("SSL: certificate subject name 'a.test' does not match target host name 'b.test'", 62),
            ("SSL: unable to obtain common name from peer certificate: no subject name", 62),
        ]
    )
    func host(text: String, number: Int) {
        let error = URLError(Self.failure(.peerFailedVerification, 1, text), url: nil)
        #expect(error.code == .serverCertificateUntrusted)
        #expect(error.certificateProblem == .wrongHost)
        #expect(error.userInfo[CurlErrorKey.verification] as? Int == number)
    }

    @Test("A failure of another kind has no problem with a certificate")
    func others() {
        #expect(URLError(Self.failure(.sslConnectError, 0), url: nil).certificateProblem == nil)
        #expect(URLError(Self.failure(.couldntConnect, 0), url: nil).userInfo[CurlErrorKey.verification] == nil)
        #expect(URLError(Self.failure(.sslPinnedPubKeyNotMatch, 0), url: nil).certificateProblem == .otherPublicKey)
        #expect(URLError(.timedOut).certificateProblem == nil)
    }

    static let alerts: [(String, Int?)] = [
        ("error:0A00045C:SSL routines::tlsv13 alert certificate required", 116),
        ("TLS connect error: error:0A000418:SSL routines::tlsv1 alert unknown ca", 48),
        ("OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", 48),
        ("error:14094412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate", 42),
        ("error:0A000410:SSL routines::sslv3 alert handshake failure", 40),
        // No alert that was received.
        ("error:0A000102:SSL routines::unsupported protocol", nil),
        // Another library's.
        ("error:0B000412:x509 certificate routines::whatever", nil),
        ("error:", nil), ("error:0A0004", nil), ("error:zzzzzzzz", nil), ("Connection reset by peer", nil), ("", nil),
    ]

    @Test("An alert is known by OpenSSL's number for it", arguments: alerts)
    func alert(text: String, number: Int?) {
        #expect(TLSAlert(in: text)?.number == number)
    }

    @Test(
        "Alerts about the client's certificate have codes of their own, whenever they come",
        arguments: [.sslConnectError, .sendError, .recvError, .partialFile] as [CurlCode]
    )
    func alertCodes(curl: CurlCode) {
        func code(_ hex: String) -> URLError.Code {
            ErrorTable.code(for: Self.failure(curl, 0, "error:\(hex):SSL routines::tlsv1 alert"))
        }
        #expect(code("0A00045C") == .clientCertificateRequired)
        for hex in ["0A000412", "0A000413", "0A000414", "0A000415", "0A000416", "0A000418", "0A000419"] {
            #expect(code(hex) == .clientCertificateRejected)
        }
        #expect(code("0A000410") == (curl == .sslConnectError ? .secureConnectionFailed : .networkConnectionLost))
    }
}
