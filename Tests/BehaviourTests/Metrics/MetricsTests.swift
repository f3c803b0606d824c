import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Metrics", .timeLimit(.minutes(1)))
struct MetricsTests {
    /// Runs a data task to its end, and returns its metrics.
    static func metrics(of request: URLRequest, in session: URLSession) async throws -> URLSessionTaskMetrics {
        let delegate = TimelineDelegate()
        _ = try? await session.data(for: request, delegate: delegate)
        // There already: the call returns behind them.
        return try #require(delegate.record.value.metrics.first)
    }

    @Test("A first request has all its dates, in order, within the task's interval")
    func dates() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let before = Date()
        let metrics = try await Self.metrics(of: URLRequest(url: rig.url("/")), in: rig.session)
        #expect(metrics.transactionMetrics.count == 1)
        #expect(metrics.redirectCount == 0)
        let transaction = try #require(metrics.transactionMetrics.first)
        let dates = try [
            before, metrics.taskInterval.start,
            #require(transaction.fetchStartDate),
            #require(transaction.domainLookupStartDate), #require(transaction.domainLookupEndDate),
            #require(transaction.connectStartDate), #require(transaction.connectEndDate),
            #require(transaction.requestStartDate), #require(transaction.requestEndDate),
            #require(transaction.responseStartDate), #require(transaction.responseEndDate),
        ]
        #expect(dates == dates.sorted())
        #expect(metrics.taskInterval.end <= Date())
        // Two clocks are compared here, the task's and libcurl's.
        #expect(try #require(dates.last).timeIntervalSince(metrics.taskInterval.end) < 0.1)
        #expect(transaction.secureConnectionStartDate == nil)
        #expect(transaction.secureConnectionEndDate == nil)
        #expect(transaction.negotiatedTLSProtocolVersion == nil)
        #expect(transaction.negotiatedTLSCipherSuite == nil)
    }

    @Test("Bytes that the delegate got were received, even if they came together with something that can't be read")
    func damagedBody() async throws {
        let rig = try Rig { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"), .close])
        }
        defer { rig.stop() }
        let metrics = try await Self.metrics(of: URLRequest(url: rig.url("/")), in: rig.session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.countOfResponseBodyBytesReceived == 5)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 5)
    }

    @Test("A transaction has its request, response and protocol, both addresses and ports, and its origin")
    func connection() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let metrics = try await Self.metrics(of: URLRequest(url: rig.url("/a?b")), in: rig.session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.request.url == rig.url("/a?b"))
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(transaction.networkProtocolName == "http/1.1")
        #expect(transaction.remoteAddress == "127.0.0.1")
        #expect(transaction.remotePort == "\(rig.server.port)")
        #expect(transaction.localAddress == "127.0.0.1")
        #expect(transaction.localPort.flatMap { Int($0) } ?? 0 > 0)
        #expect(transaction.resourceFetchType == .networkLoad)
        #expect(!transaction.isReusedConnection)
        #expect(!transaction.isProxyConnection)
        #expect(!transaction.isCellular && !transaction.isExpensive && !transaction.isConstrained)
        #expect(metrics.description.contains("GET \(rig.url("/a?b").absoluteString): 200, http/1.1, 127.0.0.1"))
    }

    @Test("A connection used again is nothing looked up or connected, and says so")
    func reused() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let request = URLRequest(url: rig.url("/"))
        let first = try await Self.metrics(of: request, in: rig.session)
        let second = try await Self.metrics(of: request, in: rig.session)
        let transaction = try #require(second.transactionMetrics.first)
        #expect(transaction.isReusedConnection)
        #expect(transaction.domainLookupStartDate == nil && transaction.domainLookupEndDate == nil)
        #expect(transaction.connectStartDate == nil && transaction.connectEndDate == nil)
        #expect(transaction.requestStartDate != nil && transaction.responseEndDate != nil)
        #expect(transaction.localPort == first.transactionMetrics.first?.localPort)
        #expect(rig.server.connectionCount == 1)
    }

    @Test("Bytes of heads and bodies are counted in both directions")
    func counts() async throws {
        let rig = try Rig { _ in .generated(length: 12_345) }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT", body: Data(count: 54_321))
        let metrics = try await Self.metrics(of: request, in: rig.session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.countOfRequestBodyBytesSent == 54_321)
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 54_321)
        #expect(transaction.countOfResponseBodyBytesReceived == 12_345)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 12_345)
        #expect(transaction.countOfResponseHeaderBytesReceived == rig.server.bytesSent - 12_345)
        #expect(transaction.countOfRequestHeaderBytesSent > 60)
        #expect(try #require(transaction.requestEndDate) >= #require(transaction.requestStartDate))
    }

    @Test("A compressed body is counted before and after it is decoded")
    func decoding() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: nginx.plain("/gzip" + NginxSite.textPath))
        let metrics = try await Self.metrics(of: request, in: session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == NginxSite.text.utf8.count)
        #expect((1...20_000).contains(transaction.countOfResponseBodyBytesReceived))
    }

    @Test("Each redirect is a transaction of its own")
    func redirects() async throws {
        let rig = try Rig { request in
            switch request.path {
            case "/a": .redirect(to: "/b")
            case "/b": .redirect(to: "/c", status: 307)
            default: .text("there")
            }
        }
        defer { rig.stop() }
        let metrics = try await Self.metrics(of: URLRequest(url: rig.url("/a")), in: rig.session)
        #expect(metrics.redirectCount == 2)
        let transactions = metrics.transactionMetrics
        #expect(transactions.map(\.request.url?.path) == ["/a", "/b", "/c"])
        #expect(transactions.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 307, 200])
        #expect((transactions[0].response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Location") == "/b")
        #expect(transactions.map(\.isReusedConnection) == [false, true, true])
        let ends = transactions.map { $0.responseEndDate ?? .distantPast }
        #expect(ends == ends.sorted())
    }

    @Test("The response to a body starts after the body was sent, and not at all if none comes")
    func responseToBody() async throws {
        let arrived = Watched(Date.distantFuture)
        let rig = try Rig { request in
            arrived.update { $0 = Date() }
            return request.path == "/lost" ? .fault(.beforeAnyByte) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        let body = Data(count: 3_000_000)
        func transaction(_ path: String) async throws -> URLSessionTaskTransactionMetrics {
            let metrics = try await Self.metrics(
                of: URLRequest(rig.url(path), method: "PUT", body: body),
                in: rig.session
            )
            return try #require(metrics.transactionMetrics.last)
        }
        let answered = try await transaction("/")
        let responseStart = try #require(answered.responseStartDate)
        #expect(responseStart >= arrived.value)
        #expect(try #require(answered.requestEndDate) <= responseStart)
        #expect(try #require(answered.responseEndDate) >= responseStart)
        let lost = try await transaction("/lost")
        // Over the kept connection, and once more over another one.
        #expect(lost.countOfRequestBodyBytesSent == 6_000_000)
        #expect(lost.responseStartDate == nil && lost.responseEndDate == nil)
    }

    @Test("A response that never came has no dates")
    func noResponse() async throws {
        let rig = try Rig { _ in .fault(.beforeAnyByte) }
        defer { rig.stop() }
        let metrics = try await Self.metrics(of: URLRequest(url: rig.url("/")), in: rig.session)
        let transaction = try #require(metrics.transactionMetrics.last)
        #expect(transaction.response == nil && transaction.requestStartDate != nil)
        #expect(transaction.responseStartDate == nil && transaction.responseEndDate == nil)
    }

    @Test("A refused connection has no answer, and no date behind the attempt")
    func refused() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:\(LoopbackServer.refusingPort())/"))
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let metrics = try await Self.metrics(of: URLRequest(url: url), in: session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.response == nil)
        #expect(transaction.fetchStartDate != nil && transaction.domainLookupStartDate != nil)
        #expect(transaction.connectEndDate == nil && transaction.requestStartDate == nil)
        #expect(transaction.responseStartDate == nil && transaction.responseEndDate == nil)
        #expect(transaction.networkProtocolName == nil)
        #expect(!transaction.isReusedConnection)
        #expect(metrics.description.contains("no response"))
    }

    @Test("A task that a program's own class loads has a transaction of unknown origin")
    func ownProtocol() async throws {
        final class Hello: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
            override func startLoading() {
                let url = request.url ?? URL(fileURLWithPath: "/")
                guard let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
                else { return }
                client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
                client?.urlProtocol(self, didLoad: Data("hello".utf8))
                client?.urlProtocolDidFinishLoading(self)
            }
        }
        let session = URLSession.forTest { $0.protocolClasses = [Hello.self] }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://example.invalid/"))
        let metrics = try await Self.metrics(of: URLRequest(url: url), in: session)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(metrics.transactionMetrics.count == 1)
        #expect(transaction.resourceFetchType == .unknown)
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(transaction.countOfResponseBodyBytesReceived == 5)
        #expect(transaction.fetchStartDate != nil && transaction.responseEndDate != nil)
        #expect(transaction.connectStartDate == nil && transaction.remoteAddress == nil)
    }

    @Test(
        "A transaction over HTTP/2 and TLS has the protocol, the handshake's dates, the version and the cipher suite",
        .needsTrust
    )
    func secure() async throws {
        let nginx = try Nginx.shared()
        let url = nginx.tls(NginxSite.smallPath).absoluteString
        let helper = try NginxTrust(nginx.site).startHelper("metrics", url, url)
        let lines = await helper.remainingLines()
        // Which they are, nginx and OpenSSL decide.
        let first = try #require(lines.first?.split(separator: " ").map(String.init), "\(nginx.complaints)")
        #expect(["TLSv12", "TLSv13"].contains(first[1]))
        #expect(first[2].contains("_SHA"))
        let session = "h2 \(first[1]) \(first[2])"
        #expect(lines == ["\(session) secured after connecting new", "\(session) not secured reused"])
    }
}
