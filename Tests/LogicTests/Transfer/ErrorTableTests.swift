import Curl
import Foundation
import Glibc
import Testing

@testable import CurlNetworking

@Suite("The table of errors")
struct ErrorTableTests {
    static func failure(
        _ code: UInt32,
        errno: Int32 = 0,
        text: String = "libcurl's words",
        phase: TransferPhase = .receiving
    ) -> TransferFailure {
        TransferFailure(code: CurlCode(rawValue: code), text: text, systemErrno: errno, phase: phase)
    }

    /// What libcurl says of a number that is no code.
    static let noText = CurlCode(rawValue: 9999).text

    /// Codes of other protocols and of options that are never set.
    static let unreachable: Set<UInt32> = [
        0, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 24, 25, 29, 30, 31, 32, 36, 37, 38, 39, 40, 41, 44, 46, 49, 50, 51,
        57, 62,
        68, 69, 70, 71, 72, 73, 74, 75, 76, 78, 79, 81, 84, 85, 86, 87, 93,
    ]

    /// Codes that newer libcurls have given up.
    static let retired: Set<UInt32> = [34]

    @Test("Every code this libcurl can report for HTTP is in the table", arguments: UInt32(1)...150)
    func complete(code: UInt32) {
        guard CurlCode(rawValue: code).text != Self.noText, !Self.unreachable.contains(code) else { return }
        #expect(ErrorTable.codes.contains { $0.curl == code }, "\(CurlCode(rawValue: code))")
    }

    @Test("Every code of this libcurl has a text of its own")
    func texts() {
        #expect(CurlCode(rawValue: 7).text.contains("onnect"))
        #expect(CurlCode(rawValue: 28).text.contains("imeout"))
        for code in ErrorTable.codes where code.curl < 99 && !Self.retired.contains(code.curl) {
            let text = CurlCode(rawValue: code.curl).text
            #expect(!text.isEmpty && text != Self.noText, "\(code.curl)")
        }
    }

    @Test("No code is listed twice, and the list is in order")
    func unique() {
        let codes = ErrorTable.codes.map(\.curl)
        #expect(codes == Set(codes).sorted())
    }

    static let importantCodes: [(UInt32, URLError.Code)] = [
        (3, .badURL), (6, .cannotFindHost), (5, .cannotFindHost), (7, .cannotConnectToHost),
        (18, .networkConnectionLost),
        (28, .timedOut), (35, .secureConnectionFailed), (52, .networkConnectionLost), (56, .networkConnectionLost),
        (55, .networkConnectionLost), (60, .serverCertificateUntrusted), (61, .cannotDecodeContentData),
        (47, .httpTooManyRedirects), (92, .networkConnectionLost), (8, .badServerResponse), (12345, .unknown),
    ]

    @Test("The codes that programs look at", arguments: importantCodes)
    func important(curl: UInt32, expected: URLError.Code) {
        #expect(ErrorTable.code(for: Self.failure(curl)) == expected)
    }

    static let connectErrors: [(Int32, URLError.Code)] = [
        (ECONNREFUSED, .cannotConnectToHost), (ENETUNREACH, .notConnectedToInternet),
        (ENETDOWN, .notConnectedToInternet),
        (ETIMEDOUT, .timedOut), (EHOSTUNREACH, .cannotConnectToHost), (0, .cannotConnectToHost),
    ]

    @Test("Why a connection failed tells a refusal from a missing network", arguments: connectErrors)
    func connecting(errno: Int32, expected: URLError.Code) {
        #expect(ErrorTable.code(for: Self.failure(7, errno: errno)) == expected)
    }

    @Test("Chunks that are none are the server's fault, and no lost connection")
    func chunks() {
        let texts = [
            "Illegal or missing hexadecimal sequence in chunked-encoding",
            "chunk hex-length char not a hex digit: 0x68",
        ]
        for text in texts { #expect(ErrorTable.code(for: Self.failure(56, text: text)) == .badServerResponse) }
        #expect(ErrorTable.code(for: Self.failure(18, text: "in a chunk")) == .networkConnectionLost)
    }

    @Test("A field that an older libcurl has no room for is the server's fault; memory that is short is nobody's")
    func largeFields() {
        #expect(ErrorTable.code(for: Self.failure(27)) == .badServerResponse)
        #expect(ErrorTable.code(for: Self.failure(27, phase: .sending)) == .unknown)
    }

    @Test("A response that continues a field before its first is the server's fault; an argument that is wrong is ours")
    func foldedFirstField() {
        #expect(ErrorTable.code(for: Self.failure(43)) == .badServerResponse)
        #expect(ErrorTable.code(for: Self.failure(43, phase: .preparing)) == .unknown)
    }

    @Test("libcurl writes no files, and so none is to blame where it reports that writing failed")
    func writing() {
        #expect(ErrorTable.code(for: Self.failure(23)) == .badServerResponse)
    }

    @Test("The errno matters to no other code")
    func errnoElsewhere() {
        #expect(ErrorTable.code(for: Self.failure(56, errno: ETIMEDOUT)) == .networkConnectionLost)
    }

    @Test("An error carries the URL, libcurl's text and code, the errno and the phase")
    func userInfo() throws {
        let url = try Sample.url("http://example.com/a?b")
        let error = URLError(
            Self.failure(7, errno: ECONNREFUSED, text: "Connection refused!", phase: .connecting),
            url: url
        )
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL == url)
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == "http://example.com/a?b")
        #expect(error.userInfo[CurlErrorKey.code] as? Int == 7)
        #expect(error.userInfo[CurlErrorKey.text] as? String == "Connection refused!")
        #expect(error.userInfo[CurlErrorKey.phase] as? String == "connecting")
        #expect(error.localizedDescription == "Connection refused!")
        let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == NSPOSIXErrorDomain)
        #expect(underlying.code == Int(ECONNREFUSED))
    }

    @Test("Without a URL or an errno there is none in the error")
    func sparseUserInfo() {
        let error = URLError(Self.failure(56), url: nil)
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] == nil)
        #expect(error.userInfo[NSUnderlyingErrorKey] == nil)
        #expect(error.userInfo[CurlErrorKey.code] as? Int == 56)
    }

    @Test("Resume data joins what an error says already")
    func resumeData() {
        let error = URLError(Self.failure(56), url: nil).with(resumeData: Data([1]))
        #expect(error.code == .networkConnectionLost)
        #expect(error.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == Data([1]))
        #expect(error.userInfo[CurlErrorKey.text] as? String == "libcurl's words")
    }

    @Test("A cancellation names the URL")
    func cancelled() throws {
        let url = try Sample.url("http://example.com/")
        #expect(URLError.cancelled(url).code == .cancelled)
        #expect(URLError.cancelled(url).failingURL == url)
    }
}
