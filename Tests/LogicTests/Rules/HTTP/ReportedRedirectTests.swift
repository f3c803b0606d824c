import Foundation
import Testing

@testable import CurlNetworking

@Suite("Redirects that a protocol class reports")
struct ReportedRedirectTests {
    private static func request(_ url: String, _ fields: KeyValuePairs<String, String> = [:]) throws -> URLRequest {
        try Sample.request(url, "GET", fields)
    }

    @Test(
        "Credentials taken over don't go elsewhere, those newly set do",
        arguments: [
            ("http://a/", "http://a/b", "old", "old"), ("http://a/", "http://b/", "old", nil),
            ("https://a/", "http://a/", "old", nil), ("http://a/", "http://a:81/", "old", nil),
            ("http://a/", "http://b/", "new", "new"), ("mock://a/", "mock://a/b", "old", "old"),
            ("mock://a/", "mock://b/", "old", nil), ("mock://a/", "http://a/", "old", nil),
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

    @Test("The twenty-first is too many")
    func limit() throws {
        let request = try Self.request("http://a/")
        #expect(try RedirectPolicy.reported(request, from: request, count: 19) == request)
        #expect {
            try RedirectPolicy.reported(request, from: request, count: 20)
        } throws: {
            ($0 as? URLError)?.code == .httpTooManyRedirects
        }
    }

    @Test("What no class takes must be the network's")
    func refusal() throws {
        #expect(try RedirectPolicy.refusal(of: Self.request("https://a/")) == nil)
        for url in ["file:///etc/passwd", "data:,a", "ftp://a/", "mock://a/"] {
            #expect(try RedirectPolicy.refusal(of: Self.request(url))?.code == .unsupportedURL)
        }
    }
}
