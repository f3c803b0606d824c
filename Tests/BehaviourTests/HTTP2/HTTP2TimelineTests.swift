import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Delegates hear the same over HTTP/2 as over HTTP/1.1", .timeLimit(.minutes(1)))
struct HTTP2TimelineTests {
    /// The story of a task over one of the two, and what was shown at its end.
    private static func story(
        isHTTP2: Bool,
        onResponse: URLSession.ResponseDisposition = .allow,
        _ make: (URLSession, (String) -> URL) -> URLSessionTask
    ) async throws -> [String] {
        let (multiplexing, single) = try (NginxHTTP2.shared(), Nginx.shared())
        let delegate = TimelineDelegate(onResponse: onResponse)
        let session = URLSession.forTest(delegate: delegate) {
            $0.urlCache = nil
            if isHTTP2 { $0.curl.httpVersion = .http2PriorKnowledge }
        }
        defer { session.invalidateAndCancel() }
        let task = make(session) { isHTTP2 ? multiplexing.url(.plain, $0) : single.plain($0) }
        task.resume()
        let story = try await delegate.completeStory()
        let response = task.response as? HTTPURLResponse
        #expect(response?.value(forHTTPHeaderField: "X-Protocol") == (isHTTP2 ? "HTTP/2.0" : "HTTP/1.1"))
        let transactions = delegate.record.value.metrics.first?.transactionMetrics ?? []
        #expect(transactions.last?.networkProtocolName == (isHTTP2 ? "h2" : "http/1.1"))
        return story + [
            "\(response?.statusCode ?? 0) \(task.error == nil ? task.countOfBytesReceived : -1) \(task.countOfBytesSent)",
            "\(transactions.count) transactions", "\(delegate.record.value.error?.code.rawValue ?? 0)",
        ]
    }

    private static func isSame(
        onResponse: URLSession.ResponseDisposition = .allow,
        _ make: (URLSession, (String) -> URL) -> URLSessionTask
    ) async throws -> Bool {
        let one = try await story(isHTTP2: false, onResponse: onResponse, make)
        let other = try await story(isHTTP2: true, onResponse: onResponse, make)
        #expect(one == other)
        return one.first == "created" && one.contains("completed")
    }

    @Test("A delegate hears the same of a data task, an upload and a download over either version")
    func plain() async throws {
        #expect(try await Self.isSame { $0.dataTask(with: $1(NginxSite.mebibytePath)) })
        let name = "/upload/\(UUID().uuidString)"
        #expect(
            try await Self.isSame { session, url in
                session.uploadTask(with: URLRequest(url(name), method: "PUT"), from: Data(count: 300_000))
            }
        )
        #expect(try await Self.isSame { $0.downloadTask(with: $1(NginxSite.textPath)) })
    }

    @Test("A delegate hears the same of an uploaded stream and of HEADs with and without a body over either version")
    func lessUsual() async throws {
        let name = "/upload/\(UUID().uuidString)"
        #expect(
            try await Self.isSame { session, url in
                var request = URLRequest(url(name), method: "PUT", headers: ["Content-Length": "300000"])
                request.httpBodyStream = InputStream(data: Data(count: 300_000))
                return session.uploadTask(withStreamedRequest: request)
            }
        )
        #expect(try await Self.isSame { $0.dataTask(with: URLRequest($1(NginxSite.smallPath), method: "HEAD")) })
        #expect(
            try await Self.isSame {
                $0.dataTask(with: URLRequest($1(NginxSite.smallPath), method: "HEAD", body: Data(count: 1000)))
            }
        )
        #expect(try await Self.isSame { $0.downloadTask(with: $1("/moved" + NginxSite.smallPath)) })
    }

    @Test("A delegate hears the same of redirects, challenges and error responses over either version")
    func detours() async throws {
        #expect(try await Self.isSame { $0.dataTask(with: $1("/moved" + NginxSite.smallPath)) })
        #expect(try await Self.isSame { $0.dataTask(with: $1("/private" + NginxSite.smallPath)) })
        #expect(try await Self.isSame { $0.dataTask(with: $1("/nothing")) })
    }

    @Test("A delegate that refuses a response, or makes it a download, hears the same over either version")
    func dispositions() async throws {
        #expect(try await Self.isSame(onResponse: .cancel) { $0.dataTask(with: $1(NginxSite.smallPath)) })
        #expect(try await Self.isSame(onResponse: .becomeDownload) { $0.dataTask(with: $1(NginxSite.smallPath)) })
    }
}
