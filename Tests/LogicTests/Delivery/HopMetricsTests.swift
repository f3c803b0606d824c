import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a hop's numbers mean")
struct HopMetricsTests {
    static let start = Date(timeIntervalSinceReferenceDate: 1000)

    static func hop(
        _ url: String = "http://example.com/",
        _ change: (inout TransferStatistics) -> Void = { _ in }
    ) throws -> HopMetrics {
        var hop = HopMetrics(URLRequest(url: try Sample.url(url)), start: start)
        var statistics = TransferStatistics()
        statistics.newConnections = 1
        statistics.nameLookedUp = .milliseconds(10)
        statistics.connected = .milliseconds(20)
        statistics.requestStarted = .milliseconds(40)
        statistics.responseStarted = .milliseconds(80)
        statistics.responseHeadSize = 1
        statistics.total = .milliseconds(100)
        change(&statistics)
        hop.statistics = statistics
        return hop
    }

    /// In milliseconds from the start.
    static func time(_ date: Date?) -> Int? {
        date.map { Int(($0.timeIntervalSince(start) * 1000).rounded()) }
    }

    @Test("Each stage begins where the one before has ended")
    func stages() throws {
        let hop = try Self.hop()
        let dates = [
            hop.domainLookupStart, hop.domainLookupEnd, hop.connectStart, hop.connectEnd, hop.requestStart,
            hop.requestEnd, hop.responseStart, hop.responseEnd,
        ]
        #expect(dates.map(Self.time) == [0, 10, 10, 20, 40, 40, 80, 100])
        #expect(hop.secureConnectionStart == nil && hop.secureConnectionEnd == nil)
    }

    @Test("With TLS the connection stands when the handshake is over")
    func secure() throws {
        let hop = try Self.hop("https://example.com/") { $0.secured = .milliseconds(35) }
        #expect(Self.time(hop.secureConnectionStart) == 20)
        #expect(Self.time(hop.secureConnectionEnd) == 35)
        #expect(Self.time(hop.connectEnd) == 35)
        let failed = try Self.hop("https://example.com/") { $0.requestStarted = nil }
        #expect(Self.time(failed.secureConnectionStart) == 20)
        #expect(failed.connectEnd == nil)
    }

    @Test("A request starts when its connection stands at the earliest, though libcurl has the time of an earlier try")
    func repeated() throws {
        let hop = try Self.hop("https://example.com/") {
            $0.secured = .milliseconds(60)
            $0.requestSent = .milliseconds(50)
        }
        #expect([hop.connectEnd, hop.requestStart, hop.requestEnd].map(Self.time) == [60, 60, 60])
        let answered = try Self.hop("https://example.com/") {
            $0.secured = .milliseconds(60)
            $0.responseStarted = .milliseconds(50)
        }
        #expect(Self.time(answered.responseStart) == 60)
    }

    @Test("No hop ends before it starts, though the clock is set back meanwhile")
    func clockSetBack() throws {
        var hop = HopMetrics(URLRequest(url: try Sample.url("http://example.com/")), source: .other, start: Self.start)
        hop.response = TaskResponse(
            ResponseHead(version: "HTTP/1.1", status: 200, fields: []),
            at: try Sample.url("http://example.com/")
        )
        hop.end = Self.start - 3600
        #expect([hop.responseStart, hop.responseEnd].map(Self.time) == [0, 0])
    }

    @Test("A connection used again has no stages of its own")
    func reused() throws {
        let hop = try Self.hop("https://example.com/") { $0.newConnections = 0 }
        #expect(hop.isReusedConnection)
        let dates = [
            hop.domainLookupStart, hop.domainLookupEnd, hop.connectStart, hop.connectEnd, hop.secureConnectionStart,
            hop.secureConnectionEnd,
        ]
        #expect(dates.allSatisfy { $0 == nil })
        #expect(Self.time(hop.requestStart) == 40)
    }

    @Test("A request that was kept off its kept connection, and never sent, had one that was used again")
    func keptOff() throws {
        let hop = try Self.hop("https://example.com/") {
            ($0.newConnections, $0.requestStarted, $0.responseStarted) = (0, nil, nil)
            ($0.responseHeadSize, $0.remoteAddress) = (0, "192.0.2.1")
        }
        #expect(hop.isReusedConnection)
        let dates = [
            hop.domainLookupStart, hop.domainLookupEnd, hop.connectStart, hop.connectEnd, hop.secureConnectionStart,
            hop.secureConnectionEnd, hop.requestStart, hop.requestEnd, hop.responseStart, hop.responseEnd,
        ]
        #expect(dates.allSatisfy { $0 == nil })
    }

    @Test("A hop that never came to a connection has not used one again")
    func unresolved() throws {
        var hop = HopMetrics(URLRequest(url: try Sample.url("http://example.com/")), start: Self.start)
        hop.statistics = TransferStatistics()
        #expect(!hop.isReusedConnection)
        #expect(Self.time(hop.domainLookupStart) == 0)
        #expect(hop.domainLookupEnd == nil && hop.connectStart == nil && hop.responseEnd == nil)
    }

    @Test("The first byte of a response of which nothing has come is the connection's end")
    func nothing() throws {
        var hop = try Self.hop { $0.responseHeadSize = 0 }
        #expect(hop.responseStart == nil && hop.responseEnd == nil)
        hop.statistics?.responseBodySize = 1
        #expect(Self.time(hop.responseStart) == 80 && Self.time(hop.responseEnd) == 100)
    }

    @Test("A body's end is when libcurl says, else when it was taken, and never behind the answer's beginning")
    func requestEnd() throws {
        var hop = try Self.hop()
        hop.bodySent = Self.start.addingTimeInterval(0.06)
        #expect(Self.time(hop.requestEnd) == 60)
        hop.bodySent = Self.start.addingTimeInterval(0.2)
        #expect(Self.time(hop.requestEnd) == 80)
        hop.bodySent = Self.start.addingTimeInterval(0.001)
        #expect(Self.time(hop.requestEnd) == 40)
        hop.statistics?.requestSent = .milliseconds(50)
        #expect(Self.time(hop.requestEnd) == 50)
        hop.statistics?.requestSent = .milliseconds(90)
        #expect(Self.time(hop.requestEnd) == 80)
    }

    @Test("A response that was never delivered is made of its head")
    func response() throws {
        var hop = try Self.hop()
        #expect(hop.madeResponse == nil)
        hop.head = ResponseHead(
            version: "HTTP/1.1",
            status: 302,
            fields: [HeaderField(name: "Location", value: "/b")]
        )
        let response = try #require(hop.madeResponse as? HTTPURLResponse)
        #expect(response.statusCode == 302)
        #expect(response.value(forHTTPHeaderField: "location") == "/b")
    }

    @Test("A cached answer has the dates of a request and an answer, and none of a connection")
    func cached() throws {
        let url = try Sample.url("http://example.com/")
        var hop = HopMetrics(URLRequest(url: url), source: .cache, start: Self.start)
        hop.response = TaskResponse(
            URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        )
        hop.end = Self.start.addingTimeInterval(0.001)
        let transaction = URLSessionTaskTransactionMetrics(hop)
        #expect(transaction.resourceFetchType == .localCache)
        #expect(
            [transaction.requestStartDate, transaction.requestEndDate, transaction.responseStartDate].map(Self.time)
                == [0, 0, 0]
        )
        #expect(Self.time(transaction.responseEndDate) == 1)
        #expect(transaction.connectStartDate == nil && transaction.remoteAddress == nil)
        #expect(!transaction.isReusedConnection && !transaction.isProxyConnection)
        #expect(transaction.networkProtocolName == nil)
    }
}
