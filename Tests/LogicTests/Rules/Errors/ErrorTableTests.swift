import CurlTransport
import Foundation
import Glibc
import Testing

@testable import CurlNetworking

@Suite("The table of errors")
struct ErrorTableTests {
    static func failure(
        _ code: CurlCode,
        errno: Int32 = 0,
        text: String = "libcurl's words",
        phase: TransferPhase = .receiving
    ) -> TransferFailure {
        TransferFailure(code: code, text: text, systemErrno: errno, phase: phase)
    }

    @Test("An error that names no URL is about the request's, and one that does stays about that one")
    func addedURL() throws {
        let (url, other) = (try Sample.url("http://a/"), try Sample.url("http://b/"))
        let error = URLError(.backgroundSessionWasDisconnected, url: nil, "Gone.").with(url: url)
        #expect(error.failingURL == url)
        #expect(error.localizedDescription == "Gone.")
        #expect(URLError(.cancelled, url: other, "Cancelled.").with(url: url).failingURL == other)
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
    static let retired: Set<CurlCode> = [.httpPostError]

    @Test("Every code this libcurl can report for HTTP is in the table", arguments: UInt32(1)...150)
    func complete(code: UInt32) {
        guard CurlCode(rawValue: code).text != Self.noText, !Self.unreachable.contains(code) else { return }
        #expect(ErrorTable.codes.contains { $0.curl.rawValue == code }, "\(CurlCode(rawValue: code))")
    }

    @Test("Every code of this libcurl has a text of its own")
    func texts() {
        #expect(CurlCode.couldntConnect.text.contains("onnect"))
        #expect(CurlCode.operationTimedOut.text.contains("imeout"))
        for code in ErrorTable.codes.map(\.curl) where code.rawValue < 99 && !Self.retired.contains(code) {
            #expect(!code.text.isEmpty && code.text != Self.noText, "\(code)")
        }
    }

    @Test("No code is listed twice, and the list is in order")
    func unique() {
        let codes = ErrorTable.codes.map(\.curl.rawValue)
        #expect(codes == Set(codes).sorted())
    }

    static let importantCodes: [(CurlCode, URLError.Code)] = [
        (.urlMalformat, .badURL), (.couldntResolveHost, .cannotFindHost), (.couldntResolveProxy, .cannotFindHost),
        (.couldntConnect, .cannotConnectToHost), (.partialFile, .networkConnectionLost),
        (.operationTimedOut, .timedOut), (.sslConnectError, .secureConnectionFailed),
        (.gotNothing, .networkConnectionLost), (.recvError, .networkConnectionLost),
        (.sendError, .networkConnectionLost), (.peerFailedVerification, .serverCertificateUntrusted),
        (.badContentEncoding, .cannotDecodeContentData), (.tooManyRedirects, .httpTooManyRedirects),
        (.http2Stream, .networkConnectionLost), (.weirdServerReply, .badServerResponse),
        (CurlCode(rawValue: 12345), .unknown),
    ]

    @Test("The codes that programs look at are the documented ones", arguments: importantCodes)
    func important(curl: CurlCode, expected: URLError.Code) {
        let phase = [.couldntConnect, .couldntResolveHost].contains(curl) ? TransferPhase.connecting : .receiving
        #expect(ErrorTable.code(for: Self.failure(curl, phase: phase)) == expected)
    }

    static let connectErrors: [(Int32, URLError.Code)] = [
        (ECONNREFUSED, .cannotConnectToHost), (ENETUNREACH, .notConnectedToInternet),
        (ENETDOWN, .notConnectedToInternet),
        (ETIMEDOUT, .timedOut), (EHOSTUNREACH, .cannotConnectToHost), (0, .cannotConnectToHost),
    ]

    @Test("Why a connection failed tells a refusal from a missing network", arguments: connectErrors)
    func connecting(errno: Int32, expected: URLError.Code) {
        #expect(ErrorTable.code(for: Self.failure(.couldntConnect, errno: errno, phase: .connecting)) == expected)
    }

    @Test("After the request was sent, that no other connection can be made means that the first was lost")
    func lostBefore() {
        for code in [CurlCode.couldntConnect, .couldntResolveHost] {
            for phase in TransferPhase.allCases {
                let isLost = phase == .sending || phase == .receiving
                let failure = TransferFailure(code: code, text: "no", systemErrno: ECONNREFUSED, phase: phase)
                #expect((ErrorTable.code(for: failure) == .networkConnectionLost) == isLost, "\(phase)")
            }
        }
    }

    @Test("Chunks that are none are the server's fault, and no lost connection")
    func chunks() {
        let texts = [
            "Illegal or missing hexadecimal sequence in chunked-encoding",
            "chunk hex-length char not a hex digit: 0x68",
        ]
        for text in texts { #expect(ErrorTable.code(for: Self.failure(.recvError, text: text)) == .badServerResponse) }
        #expect(ErrorTable.code(for: Self.failure(.partialFile, text: "in a chunk")) == .networkConnectionLost)
    }

    @Test("A line of a proxy's answer that libcurl has no room for is the proxy's fault, and no lost connection")
    func largeProxyResponse() {
        let failure = Self.failure(.recvError, text: "CONNECT response too large", phase: .connecting)
        #expect(ErrorTable.code(for: failure) == .badServerResponse)
    }

    @Test("A field too large for an older libcurl is the server's fault, and a lack of memory isn't")
    func largeFields() {
        let (older, newer) = (CurlQuirks(version: CurlVersion(8, 5)), CurlQuirks(version: CurlVersion(8, 6)))
        let failure = Self.failure(.outOfMemory)
        #expect(ErrorTable.code(for: failure, quirks: older) == .badServerResponse)
        #expect(ErrorTable.code(for: failure, quirks: newer) == .unknown)
        #expect(ErrorTable.code(for: Self.failure(.outOfMemory, phase: .sending), quirks: older) == .unknown)
        #expect(ErrorTable.code(for: Self.failure(.outOfMemory, errno: ENOMEM), quirks: older) == .unknown)
    }

    @Test("The description of a line too long for libcurl blames the server, and that of a lack of memory doesn't")
    func largeLineDescription() {
        let trailer = Self.failure(.recvError, text: "Out of memory in chunked-encoding")
        let error = URLError(trailer, url: nil)
        #expect(error.code == .badServerResponse)
        #expect(error.localizedDescription.contains("too long"))
        #expect(error.userInfo[CurlErrorKey.text] as? String == trailer.text)
        let line = Self.failure(.outOfMemory, text: "Out of memory")
        let (older, newer) = (CurlQuirks(version: CurlVersion(8, 5)), CurlQuirks(version: CurlVersion(8, 6)))
        #expect(ErrorTable.description(of: line, quirks: older).contains("too long"))
        #expect(ErrorTable.description(of: line, quirks: newer) == "Out of memory")
        let lack = URLError(Self.failure(.outOfMemory, errno: ENOMEM, text: "Out of memory"), url: nil)
        #expect(lack.localizedDescription == "Out of memory")
    }

    @Test("A field that libcurl can't keep is the server's fault, and a wrong argument isn't")
    func unkeptField() {
        #expect(ErrorTable.code(for: Self.failure(.badFunctionArgument)) == .badServerResponse)
        #expect(ErrorTable.code(for: Self.failure(.badFunctionArgument, phase: .preparing)) == .unknown)
        let text = "A libcurl function was given a bad argument"
        let error = URLError(Self.failure(.badFunctionArgument, text: text), url: nil)
        #expect(error.localizedDescription.contains("before its first field"))
        #expect(error.localizedDescription.contains("carriage return"))
        #expect(error.localizedDescription.contains("trailers"))
        #expect(error.userInfo[CurlErrorKey.text] as? String == text)
        let own = URLError(Self.failure(.badFunctionArgument, text: text, phase: .preparing), url: nil)
        #expect(own.localizedDescription == text)
    }

    @Test("libcurl writes no files, and so none is to blame where it reports that writing failed")
    func writing() {
        #expect(ErrorTable.code(for: Self.failure(.writeError)) == .badServerResponse)
    }

    @Test("Another code than that of a failed connection doesn't depend on the errno")
    func errnoElsewhere() {
        #expect(ErrorTable.code(for: Self.failure(.recvError, errno: ETIMEDOUT)) == .networkConnectionLost)
    }

    @Test("An error carries the URL, libcurl's text and code, the errno and the phase")
    func userInfo() throws {
        let url = try Sample.url("http://example.com/a?b")
        let error = URLError(
            Self.failure(.couldntConnect, errno: ECONNREFUSED, text: "Connection refused!", phase: .connecting),
            url: url
        )
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL == url)
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == "http://example.com/a?b")
        #expect(error.userInfo[CurlErrorKey.code] as? Int == Int(CurlCode.couldntConnect.rawValue))
        #expect(error.userInfo[CurlErrorKey.text] as? String == "Connection refused!")
        #expect(error.userInfo[CurlErrorKey.phase] as? String == "connecting")
        #expect(error.localizedDescription == "Connection refused!")
        let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == NSPOSIXErrorDomain)
        #expect(underlying.code == Int(ECONNREFUSED))
    }

    @Test("Without a URL or an errno there is none in the error")
    func sparseUserInfo() {
        let error = URLError(Self.failure(.recvError), url: nil)
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] == nil)
        #expect(error.userInfo[NSUnderlyingErrorKey] == nil)
        #expect(error.userInfo[CurlErrorKey.code] as? Int == Int(CurlCode.recvError.rawValue))
    }

    @Test("Resume data joins what an error says already")
    func resumeData() {
        let error = URLError(Self.failure(.recvError), url: nil).with(resumeData: Data([1]))
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
