import Foundation
import Testing

@testable import CurlNetworking

@Suite("Schemes")
struct SchemeTests {
    @Test("Case doesn't matter, in a URL and on its own", arguments: Scheme.allCases)
    func letterCase(scheme: Scheme) throws {
        for text in [scheme.rawValue, scheme.rawValue.uppercased(), scheme.rawValue.capitalized] {
            #expect(Scheme(text) == scheme)
            #expect(try Scheme(Sample.url(text + "://host/")) == scheme)
        }
    }

    /// U+017F is an "s" and U+212A a "k" to what folds the case of all of Unicode.
    @Test(
        "Any other text is no scheme",
        arguments: [
            "", "htt", "httpx", "http:", "ftp+unix", "ws", "wss", "http ", "http\u{17F}", "HTTP\u{FF33}", "h\u{0}ttp",
        ]
    )
    func others(text: String) {
        #expect(Scheme(text) == nil)
    }

    @Test("A URL without a scheme has none", arguments: ["/path", "//host/path", "host"])
    func missing(url: String) throws {
        #expect(try Scheme(Sample.url(url)) == nil)
    }

    @Test("HTTP is spoken over TCP and Unix sockets")
    func http() {
        #expect(Scheme.allCases.filter(\.isHTTP) == [.http, .https, .httpUnix, .httpsUnix])
        #expect(Scheme.allCases.filter(\.isUnixSocket) == [.httpUnix, .httpsUnix])
    }

    @Test("FTP is spoken with and without TLS")
    func ftp() {
        #expect(Scheme.allCases.filter(\.isFTP) == [.ftp, .ftps])
    }

    @Test("TLS is used by three; of them ftps is not HTTP")
    func security() {
        #expect(Scheme.allCases.filter(\.usesTLS) == [.https, .ftps, .httpsUnix])
        #expect(Scheme.allCases.filter(\.isSecure) == [.https, .httpsUnix])
    }

    @Test("libcurl is given the scheme that is spoken over a Unix socket, and all others as they are")
    func transport() {
        #expect(Scheme.allCases.map(\.transport) == [.http, .https, .ftp, .ftps, .file, .data, .http, .https, .tcp])
    }

    @Test("A scheme over TCP has a port of its own")
    func ports() {
        #expect(Scheme.allCases.map(\.defaultPort) == [80, 443, 21, 990, nil, nil, nil, nil, nil])
    }
}
