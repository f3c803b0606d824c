import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP/2 without TLS", .timeLimit(.minutes(1)))
struct HTTP2PlainTests {
    let nginx: NginxHTTP2
    let delegate = RecordingDelegate()
    let session: URLSession

    init() throws {
        nginx = try NginxHTTP2.shared()
        session = URLSession.forTest(delegate: delegate) {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
        }
    }

    @Test("Requests share one connection, one after the other and at once")
    func sharing() async throws {
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.plain, NginxSite.smallPath)
        var connections: Set<String?> = []
        for _ in 0..<5 { connections.insert(NginxHTTP2.connection(of: await session.load(url).response)) }
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<30 { group.addTask { await session.load(url) } }
            for await result in group {
                #expect(result.text == NginxSite.smallText)
                connections.insert(NginxHTTP2.connection(of: result.response))
            }
        }
        #expect(connections.count == 1 && connections.first != .some(nil))
    }

    @Test("A burst to a host not yet known shares one connection")
    func burst() async throws {
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.plain, NginxSite.smallPath)
        var connections: Set<String?> = []
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<50 { group.addTask { await session.load(url) } }
            for await result in group {
                #expect(result.text == NginxSite.smallText, "\(String(describing: result.error))")
                connections.insert(NginxHTTP2.connection(of: result.response))
            }
        }
        #expect(connections.count == 1 && connections.first != .some(nil))
    }

    @Test("Connections that are gone are made again")
    func afterFlush() async throws {
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.plain, NginxSite.smallPath)
        var connections: [String?] = []
        for _ in 0..<3 {
            connections.append(NginxHTTP2.connection(of: await session.load(url).response))
            await session.flush()
        }
        #expect(Set(connections).count == 3 && !connections.contains(nil))
    }
}
