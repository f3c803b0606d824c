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

    @Test(
        "Percent-encodings and an empty query are passed through untouched over HTTP/2",
        arguments: ["/%C3%BC%e2%82%ac", "/%7euser?", "/?q=%c3%bc"]
    )
    func untouched(target: String) async throws {
        defer { session.invalidateAndCancel() }
        let response = try #require(await session.load(nginx.url(.plain, target)).response)
        #expect(response.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0")
        #expect(response.value(forHTTPHeaderField: "X-Target") == target)
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

    @Test("After a flush, requests use a new connection")
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

    /// libcurl would take the other connection for one that can be shared, and give the answer to whichever request reads first.
    @Test("A request that finds no room on an HTTP/2 connection gets no answer over HTTP/1.1")
    func otherVersion() async throws {
        defer { session.invalidateAndCancel() }
        let (arrived, gate) = (Gate(), Gate())
        let answer = Data("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign".utf8)
        let server = try ScriptedHTTP2Server(maximumStreams: 1, laterAnswer: answer) { request in
            let steps: [ScriptedHTTP2Server.Step] = request.number == 1 ? [] : [.open(arrived), .waitFor(gate)]
            return steps + ScriptedHTTP2Server.text("own")
        }
        defer { server.stop() }
        defer { gate.open() }
        #expect(await session.load(server.url()).text == "own")
        async let held = session.load(server.url("/held"))
        try await arrived.wait()
        for path in ["/1", "/2"] {
            let result = await session.load(server.url(path))
            #expect(result.error?.code == .networkConnectionLost && result.response == nil)
        }
        gate.open()
        #expect(await held.text == "own")
    }

    @Test("With a server that speaks HTTP/1.1, every task fails with a lost connection")
    func wrongServer() async throws {
        defer { session.invalidateAndCancel() }
        let server = try LoopbackServer { .text($0.path) }
        defer { server.stop() }
        for _ in 0..<5 {
            await withTaskGroup(of: HandlerResult.self) { group in
                for index in 0..<20 { group.addTask { await session.load(server.url("/\(index)")) } }
                for await result in group {
                    #expect(result.error?.code == .networkConnectionLost)
                    #expect(result.response == nil)
                }
            }
        }
    }

    @Test("A proxy that forwards the requests is asked over HTTP/1.1")
    func proxy() async throws {
        let server = try LoopbackServer { .text($0.path) }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.proxy = .server(CurlOptions.ProxyServer(.http, host: "127.0.0.1", port: server.port))
        }
        defer { session.invalidateAndCancel() }
        try await withThrowingTaskGroup(of: (path: String, result: HandlerResult).self) { group in
            for path in (0..<20).map({ "/\($0)" }) {
                let url = try #require(URL(string: "http://origin.test\(path)"))
                group.addTask { (path, await session.load(url)) }
            }
            for try await (path, result) in group { #expect(result.text == path) }
        }
    }
}
