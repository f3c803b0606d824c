import Foundation
import Testing

@testable import CurlNetworking

@Suite("Redirects that a protocol class reports")
struct ReportedRedirectTests {
    private static func request(_ url: String, _ fields: KeyValuePairs<String, String> = [:]) throws -> URLRequest {
        try Sample.request(url, "GET", fields)
    }

    @Test(
        "Credentials that a class has taken over don't go elsewhere, and those it has set do",
        arguments: [
            ("http://a/", "http://a/b", "old", "old"), ("http://a/", "http://b/", "old", nil),
            ("https://a/", "http://a/", "old", nil), ("http://a/", "http://a:81/", "old", nil),
            ("http://a/", "http://b/", "new", "new"), ("mock://a/", "mock://a/b", "old", "old"),
            ("mock://a/", "mock://b/", "old", nil), ("mock://k/", "mock://%E2%84%AA/", "old", nil),
            ("mock://a/", "http://a/", "old", nil),
            ("http://a:80/", "HTTP://A/", "old", "old"),
        ] as [(String, String, String, String?)]
    )
    func credentials(from: String, to: String, given: String, sent: String?) throws {
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
            let next = try RedirectPolicy.reported(
                Self.request(to, [name: given, "X-Other": "kept"]),
                from: Self.request(from, [name: "old", "X-Other": "kept"]),
                count: 0
            )
            #expect(next.value(forHTTPHeaderField: name) == sent)
            #expect(next.value(forHTTPHeaderField: "X-Other") == "kept")
        }
    }

    @Test("The twenty-first redirect of a protocol class is too many")
    func limit() throws {
        let request = try Self.request("http://a/")
        #expect(try RedirectPolicy.reported(request, from: request, count: 19) == request)
        #expect {
            try RedirectPolicy.reported(request, from: request, count: 20)
        } throws: {
            ($0 as? URLError)?.code == .httpTooManyRedirects
        }
    }

    private static func refusal(of target: String, from source: String = "http://a/") throws -> URLError.Code? {
        let names = Sample.settings { $0.curl.hosts["docker"].names.unixSocket = .path("/run/docker.sock") }.names
        let error = RedirectPolicy.refusal(of: try Sample.url(target), from: try Sample.url(source)) { url in
            Origin(url).flatMap { names.unixSocket(for: $0) }
        }
        return error?.code
    }

    @Test("A protocol class's redirect that no class takes must be the network's")
    func refusal() throws {
        #expect(try Self.refusal(of: "https://a/") == nil)
        for url in [
            "file:///etc/passwd", "data:,a", "ftp://a/", "mock://a/", "http+unix://%2Frun%2Fdocker.sock/",
            "https+unix://%40name/", "http://docker/",
        ] {
            #expect(try Self.refusal(of: url) == .unsupportedURL, "\(url)")
        }
    }

    @Test("A protocol class's redirect may lead to a Unix socket only from that socket")
    func sameSocket() throws {
        #expect(try Self.refusal(of: "http://docker/next", from: "http://docker/") == nil)
        #expect(try Self.refusal(of: "http+unix://%2Frun%2Fdocker.sock/", from: "http://docker/") == nil)
        #expect(try Self.refusal(of: "http+unix://%2Frun%2Fx/", from: "http://docker/") == .unsupportedURL)
        #expect(try Self.refusal(of: "http://docker/", from: "mock://docker/") == .unsupportedURL)
    }
}
