import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Bytes that no request has asked for", .timeLimit(.minutes(1)))
struct UnaskedBytesTests {
    private static let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"

    private static let heads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ]

    @Test("Unasked bytes that come with an answer are not the next answer", arguments: heads, ["GET", "POST"])
    func together(answer: String, method: String) async throws {
        let rig = try Rig { request in
            request.path == "/first" ? .raw([.bytes(answer + Self.poison)]) : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        for _ in 0..<5 {
            #expect(await rig.session.load(rig.url("/first")).error == nil)
            #expect(await rig.session.load(URLRequest(rig.url("/second"), method: method)).text == "second")
        }
        #expect(rig.server.requestCount == 10)
    }

    @Test(
        "A response whose length isn't one number is refused, and its connection closed",
        arguments: ["2, 50", "2a", "+2", "2\r\n 0", "9223372036854775808", "2\r\nTransfer-Encoding: identity"]
    )
    func noLength(length: String) async throws {
        let rig = try Rig { request in
            request.path == "/first"
                ? .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nok")]) : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/first")).error?.code == .badServerResponse)
        #expect(await rig.session.load(rig.url("/second")).text == "second")
        #expect(rig.server.connectionCount == 2)
    }

    private static let doubtful = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked",
    ]

    @Test("A response whose end others may see elsewhere is the last on its connection", arguments: doubtful)
    func doubtfulEnd(head: String) async throws {
        let rig = try Rig { request in
            request.path == "/first" ? .raw([.bytes(head + "\r\n\r\n2\r\nok\r\n0\r\n\r\n")]) : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/first")).text == "ok")
        #expect(await rig.session.load(rig.url("/second")).text == "second")
        #expect(rig.server.connectionCount == 2)
    }

    @Test("Answers that only claim to be HTTP/2, and could be to any request, are refused")
    func claimedVersion() async throws {
        let rig = try Rig {
            .raw([.bytes("HTTP/2 200\r\nContent-Length: \($0.path.utf8.count)\r\n\r\n\($0.path)")])
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    #expect(await rig.session.load(rig.url("/\(number)")).error?.code == .badServerResponse)
                }
            }
        }
        try await rig.server.waitUntilNoConnections()
    }

    @Test(
        "Answers over TLS that only claim to be HTTP/2 are refused, unless TLS has agreed on it",
        arguments: [[], ["-alpn", "http/1.1"]]
    )
    func claimedVersion(options: [String]) async throws {
        let server = try await TalkingTLSServer(options)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        async let first = session.load(server.url)
        try await server.waitForRequest()
        server.say("HTTP/2 200\nContent-Length: 6\n\nfirst")
        #expect(await first.error?.code == .badServerResponse)
    }

    @Test("Unasked bytes on an idle connection close it")
    func idle() async throws {
        let gate = Gate()
        let rig = try Rig { request in
            request.path == "/first"
                ? .raw([.bytes(Self.heads[1]), .waitFor(gate), .bytes(Self.poison)]) : .text("second")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/first")).text == "hello")
        gate.open()
        try await rig.server.waitUntilNoConnections()
        #expect(await rig.session.load(rig.url("/second")).text == "second")
        #expect(rig.server.connectionCount == 2)
    }

    @Test("Unasked bytes are not the answer to a request that takes their connection at the same moment")
    func atTheSameMoment() async throws {
        let (gate, sent) = (Gate(), Gate())
        let hold = LoopHold()
        let rig = try Rig { request in
            guard request.path == "/first" else { return .text(request.path) }
            return .raw([.bytes(Self.heads[1]), .waitFor(gate), .bytes(Self.poison), .open(sent)])
        } configure: {
            $0.urlCache = nil
            $0.curl.eventLoops = 1
            hold.install(in: $0)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/first")).text == "hello")
        async let held = rig.session.load(rig.url("/hold"))
        try await hold.isHeldUp.wait()
        gate.open()
        try await sent.wait()
        async let second = rig.session.load(URLRequest(rig.url("/second"), method: "POST", body: Data("body".utf8)))
        hold.end()
        #expect(await held.text == "/hold")
        #expect(await second.text == "/second")
        #expect(!rig.server.requests.dropFirst().contains { $0.connection == 1 })
    }

    @Test(
        "Unasked bytes over TLS are not the next answer, whether they come with the one before or later",
        arguments: [true, false]
    )
    func secure(areTogether: Bool) async throws {
        let server = try await TalkingTLSServer()
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        async let first = session.load(server.url)
        try await server.waitForRequest()
        let answer = "HTTP/1.1 200 OK\nContent-Length: 6\n\n"
        server.say(answer + "first" + (areTogether ? "\n" + answer + "poison" : ""))
        #expect(await first.text == "first\n")
        if !areTogether {
            server.say(answer + "poison")
            try await server.waitForClosing()
        }
        async let second = session.load(server.url)
        try await server.waitForRequest()
        server.say(answer + "other")
        #expect(await second.text == "other\n")
    }

    @Test("Connections on which nothing comes are used again, over TLS as well", arguments: [false, true])
    func healthy(isSecure: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.useOneConnection()
            $0.curl.tls.trustRoots = [.file(nginx.site.authority)]
        }
        defer { rig.stop() }
        // TLS 1.3 sends tickets after the handshake.
        let url = isSecure ? nginx.url(.new) : rig.url("/")
        for _ in 0..<20 { #expect(await rig.session.load(url).response?.statusCode == 200) }
        let connections = await rig.session.connections
        #expect(connections.map(\.open) == [1])
        #expect(connections.map(\.reuseCount) == [19])
    }
}
