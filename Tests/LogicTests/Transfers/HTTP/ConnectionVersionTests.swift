import Testing

@testable import CurlNetworking

@Suite("Which version a response may be of")
struct ConnectionVersionTests {
    static func isAccepted(_ line: String, over version: ConnectionVersion) -> Bool {
        let bytes = Array((line + "\r\n").utf8)
        return bytes.withUnsafeBytes { version.complaint(aboutStatusLine: $0) == nil }
    }

    @Test("Over HTTP/1.1, a response of any version but HTTP/2 is accepted")
    func http1() {
        #expect(Self.isAccepted("HTTP/1.1 200 OK", over: .http1))
        #expect(Self.isAccepted("HTTP/1.0 200", over: .http1))
        #expect(!Self.isAccepted("HTTP/2 200", over: .http1))
        #expect(!Self.isAccepted("HTTP/2.0 200 OK", over: .http1))
    }

    @Test("Over HTTP/2, no response of an older version is accepted, not even an informational one")
    func http2() {
        #expect(Self.isAccepted("HTTP/2 200", over: .http2))
        #expect(!Self.isAccepted("HTTP/1.1 200 OK", over: .http2))
        #expect(!Self.isAccepted("HTTP/1.0 200 OK", over: .http2))
        #expect(!Self.isAccepted("HTTP/1.1 100 Continue", over: .http2))
    }

    @Test(
        "A response of any version is accepted if the connection's isn't certain",
        arguments: ["HTTP/1.1 200 OK", "HTTP/2 200"]
    )
    func unknown(line: String) {
        #expect(Self.isAccepted(line, over: .unknown))
    }
}
