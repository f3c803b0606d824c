import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP Strict Transport Security", .timeLimit(.minutes(1)))
struct StrictTransportSecurityTests {
    private let nginx: TLSNginx

    init() throws {
        nginx = try TLSNginx.shared()
    }

    private func session(
        delegate: (any URLSessionDelegate)? = nil,
        _ option: CurlOptions.StrictTransportSecurity = .inMemory,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) { configuration in
            configuration.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            configuration.curl.strictTransportSecurity = option
            configure(configuration)
        }
    }

    private func secure(_ path: String, host: String = "localhost", _ port: TLSNginx.Port = .showing(.good)) -> URL {
        nginx.url(port, host: host, path)
    }

    private func plain(_ path: String, host: String = "localhost", _ port: TLSNginx.Port = .showing(.good)) throws
        -> URL
    {
        try #require(URL(string: "http" + secure(path, host: host, port).absoluteString.dropFirst(5)))
    }

    /// Whether a request for http goes out over https: else nginx complains about plain HTTP on its port.
    private func isUpgraded(_ session: URLSession, host: String = "localhost", _ port: TLSNginx.Port = .showing(.good))
        async throws
        -> Bool
    {
        let result = await session.load(try plain("/", host: host, port))
        return result.response?.url?.scheme == "https" && result.response?.statusCode == 200
    }

    /// Answers requests for "/mock" over http.
    private final class PlainMock: CurlNetworking.URLProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool {
            request.url?.scheme == "http" && request.url?.path == "/mock"
        }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}

        override func startLoading() {
            guard let url = request.url else { return }
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 4, textEncodingName: nil)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("mock".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    @Test("Protocol classes get the request as it was made, and what they decline is upgraded")
    func protocolClasses() async throws {
        let session = session { $0.protocolClasses = [PlainMock.self] }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(secure("/?sts=max-age=600")).response?.statusCode == 200)
        #expect(try await session.load(plain("/mock")).text == "mock")
        #expect(try await isUpgraded(session))
    }

    @Test("A host that asks for HSTS gets no more requests over http, on whatever port, and the task shows that")
    func upgrading() async throws {
        let session = session()
        defer { session.invalidateAndCancel() }
        #expect(try await !isUpgraded(session))
        #expect(await session.load(secure("/?sts=max-age=600")).response?.statusCode == 200)

        let url = try plain("/a?b")
        let made = Watched<URLSessionDataTask?>(nil)
        let result = await withCheckedContinuation { continuation in
            let task = session.dataTask(with: url) { continuation.resume(returning: HandlerResult($0, $1, $2)) }
            made.update { $0 = task }
            task.resume()
        }
        #expect(made.value?.originalRequest?.url == url)
        #expect(made.value?.currentRequest?.url == secure("/a?b"))
        #expect(result.response?.url == secure("/a?b"))
        #expect(result.text?.hasPrefix("TLSv1.3") == true)
    }

    @Test("By default no host is remembered as requiring https")
    func off() async throws {
        let session = session(.off)
        defer { session.invalidateAndCancel() }
        _ = await session.load(secure("/?sts=max-age=600"))
        #expect(try await !isUpgraded(session))
        #expect(CurlOptions().strictTransportSecurity == .off)
    }

    @Test("A host that ends its policy gets requests over http again")
    func ending() async throws {
        let session = session()
        defer { session.invalidateAndCancel() }
        _ = await session.load(secure("/?sts=max-age=600"))
        #expect(try await isUpgraded(session))
        _ = await session.load(secure("/?sts=max-age=0"))
        #expect(try await !isUpgraded(session))
    }

    @Test("A policy holds for subdomains if the host says so")
    func subdomains() async throws {
        for (policy, isIncluded) in [("max-age=600", false), ("max-age=600;includeSubDomains", true)] {
            let session = session { configuration in
                // No certificate of the tests' has such a name.
                configuration.curl.hosts["*.localhost"].trustsAnyCertificate = true
            }
            defer { session.invalidateAndCancel() }
            _ = await session.load(secure("/?sts=\(policy)"))
            #expect(try await isUpgraded(session, host: "sub.localhost") == isIncluded)
        }
    }

    @Test("An address never becomes known as requiring https")
    func address() async throws {
        let session = session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(secure("/?sts=max-age=600", host: "127.0.0.1")).response?.statusCode == 200)
        #expect(try await !isUpgraded(session, host: "127.0.0.1"))
    }

    @Test("A policy that comes over http doesn't count")
    func overHTTP() async throws {
        let server = try LoopbackServer { _ in .text("ok").header("Strict-Transport-Security", "max-age=600") }
        defer { server.stop() }
        let session = session()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://localhost:\(server.url("/").port ?? 0)/"))
        #expect(await session.load(url).text == "ok")
        #expect(await session.load(url).text == "ok")
    }

    @Test("A policy that comes over an unverified connection doesn't count")
    func unverified() async throws {
        let port = TLSNginx.Port.showing(.unknown)
        let careless = session { $0.curl.hosts["localhost"].trustsAnyCertificate = true }
        defer { careless.invalidateAndCancel() }
        #expect(await careless.load(secure("/?sts=max-age=600", port)).response?.statusCode == 200)
        #expect(try await !isUpgraded(careless, port))

        let accepting = session(delegate: TLSTrustChallengeTests.accepting())
        defer { accepting.invalidateAndCancel() }
        #expect(await accepting.load(secure("/?sts=max-age=600", port)).response?.statusCode == 200)
        #expect(try await !isUpgraded(accepting, port))
        // A delegate that accepts what is good anyway makes no difference.
        #expect(await accepting.load(secure("/?sts=max-age=600", .new)).response?.statusCode == 200)
        #expect(try await isUpgraded(accepting, .new))
    }

    @Test("A redirect to http goes over https; the delegate is asked about what the server has written")
    func redirect() async throws {
        let target = try plain("/there")
        let server = try LoopbackServer { _ in .status(302).header("Location", target.absoluteString) }
        defer { server.stop() }
        let delegate = DecidingDelegate()
        let session = session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        _ = await session.load(secure("/?sts=max-age=600"))
        let (data, response) = try await session.data(from: server.url("/"))
        #expect(response.url == secure("/there"))
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("TLSv1.3"))
    }

    @Test("Cookies and the cache go by the URL that is loaded")
    func cookiesAndCache() async throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = session { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        let cookie = try #require(
            HTTPCookie(properties: [.name: "secret", .value: "1", .domain: "localhost", .path: "/", .secure: "TRUE"])
        )
        session.configuration.httpCookieStorage?.setCookie(cookie)
        _ = await session.load(secure("/?sts=max-age=600"))
        let result = await session.load(try plain("/?cc=max-age=60"))
        #expect(result.response?.value(forHTTPHeaderField: "X-Cookie") == "secret=1")
        #expect(await session.load(try plain("/?cc=max-age=60")).text == result.text)
        let stored = cache.cachedResponse(for: URLRequest(url: secure("/?cc=max-age=60")))
        #expect(stored?.response.url == secure("/?cc=max-age=60"))
    }

    @Test("A file makes a host's policy known to the next session, and flushing waits for that")
    func file() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("hsts")
        do {
            let session = session(.file(file))
            defer { session.invalidateAndCancel() }
            _ = await session.load(secure("/?sts=max-age=600"))
            await session.flush()
            #expect(try String(contentsOf: file, encoding: .utf8).contains("\nlocalhost \""))
        }
        let next = session(.file(file))
        defer { next.invalidateAndCancel() }
        #expect(try await isUpgraded(next))
    }

    @Test("A folder in the file's place keeps http requests from being sent, and breaks nothing")
    func folder() async throws {
        let directory = try TemporaryDirectory()
        // Its URL ends with a slash.
        let session = session(.file(directory.url))
        defer { session.invalidateAndCancel() }
        #expect(await session.load(try plain("/")).error?.code == .cannotOpenFile)
    }

    @Test("libcurl's own option for HSTS can't be set")
    func reserved() async throws {
        let session = session(.off) { configuration in
            configuration.curl.configureTransfer = { transfer, _ in try transfer.set("HSTS", "/tmp/hsts") }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(secure("/")).error != nil)
    }
}
