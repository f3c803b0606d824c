import Foundation
import CurlNetworkingLoopbackServer
import OnlyOurs5
import OnlyOurs6
import Testing

/// That they compile, in both language modes, is half of the test; the other half is that they are called.
@Suite("Every form of every method of the delegates", .timeLimit(.minutes(1)))
struct DelegateFormTests {
    private static let questions = [
        "didReceive response", "needNewBodyStream", "session didReceive challenge", "task didReceive challenge",
        "willBeginDelayedRequest", "willCacheResponse", "willPerformHTTPRedirection",
    ]
    private static let reports = [
        "didBecome downloadTask", "didBecomeInvalid", "didCreateTask", "didFinishCollecting", "didFinishDownloadingTo",
        "didReceive data", "didReceiveInformationalResponse", "didResumeAtOffset", "didSendBodyData", "didWriteData",
        "taskIsWaitingForConnectivity",
    ]
    private static let expected = [
        (questions + reports + ["didComplete"]).sorted(), (questions + ["didComplete"]).sorted(),
        ["didComplete", "needNewBodyStreamFrom 0 on the delegate queue"], ["didComplete", "needNewBodyStreamFrom 0"],
    ]

    private static func server() throws -> LoopbackServer {
        let hints =
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        return try LoopbackServer { request in
            switch request.path {
            case "/start":
                return .redirect(to: "/secret")
            case "/secret" where request.header("Authorization") == nil:
                return .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"here\"")
            case "/secret":
                return .text("hello").header("Cache-Control", "max-age=60, public")
            case "/ntlm":
                return .text("who?", status: 401).header("WWW-Authenticate", "NTLM")
            case "/hints":
                return .raw([.bytes(hints)])
            case "/paused" where request.header("Range") == nil:
                return .raw([
                    .bytes("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: 2000\r\n\r\n"),
                    .body(.generated(length: 2000)[0..<1000]), .never,
                ])
            case "/paused":
                return .resource(.generated(length: 2000), for: request, etag: "1")
            default:
                return .echoBody(request)
            }
        }
    }

    @Test("Every form of every delegate method is called in Swift 5")
    func swift5() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(await OnlyOurs5.DelegateForms.called(at: server.url("/")) == Self.expected)
    }

    @Test("Every form of every delegate method is called in Swift 6")
    func swift6() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(await OnlyOurs6.DelegateForms.called(at: server.url("/")) == Self.expected)
    }
}
