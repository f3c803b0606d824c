import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("libcurl's trace", .timeLimit(.minutes(1)))
struct TraceTests {
    struct Entry: Sendable {
        let task: Int
        let event: CurlTraceEvent
    }

    /// Everything that a session's trace says.
    final class Log: Sendable {
        let entries = Watched<[Entry]>([])

        func trace(_ change: (inout CurlOptions.Trace) -> Void = { _ in }) -> CurlOptions.Trace {
            var trace = CurlOptions.Trace { task, event in
                self.entries.update { $0.append(Entry(task: task.taskIdentifier, event: event)) }
            }
            change(&trace)
            return trace
        }

        func lines(_ kind: CurlTraceEvent.Kind, task: Int? = nil) -> [String] {
            entries.value.filter { $0.event.kind == kind && $0.task == task ?? $0.task }.map(\.event.text)
        }

        /// Waits for the ends of so many answers' heads.
        func waitForHeads(_ count: Int) async throws {
            try await entries.wait { $0.count { $0.event.kind == .headerIn && $0.event.bytes.isEmpty } >= count }
        }

        /// Everything as one text.
        var text: String { entries.value.map(\.event.text).joined(separator: "\n") }
    }

    @Test("The trace tells what goes out and comes in, line by line, and what libcurl does, but no bodies")
    func story() async throws {
        let log = Log()
        let rig = try Rig { _ in
            .text("the body").header("X-A", "b")
        } configure: {
            $0.curl.trace = log.trace()
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/path"), method: "POST", body: Data("sent body".utf8))
        #expect(await rig.session.load(request).text == "the body")
        try await log.waitForHeads(1)
        #expect(log.lines(.headerOut).first == "POST /path HTTP/1.1")
        #expect(log.lines(.headerOut).last == "")
        #expect(log.lines(.headerOut).contains("Host: 127.0.0.1:\(rig.server.port)"))
        #expect(log.lines(.headerIn).first == "HTTP/1.1 200 OK")
        #expect(log.lines(.headerIn).contains("X-A: b"))
        #expect(log.lines(.text).contains { $0.contains("127.0.0.1:\(rig.server.port)") })
        #expect(log.entries.value.allSatisfy { ![.bodyIn, .bodyOut, .omitted].contains($0.event.kind) })
        #expect(!log.text.contains("body"))
        let times = log.entries.value.map(\.event.time)
        #expect(times == times.sorted())
        #expect(log.entries.value.contains { $0.event.description == "< X-A: b" })
    }

    @Test("The trace has bodies if the program wants them")
    func bodies() async throws {
        let log = Log()
        let rig = try Rig { _ in
            .text("the body")
        } configure: {
            $0.curl.trace = log.trace { $0.includesBodies = true }
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "POST", body: Data("sent body".utf8))
        #expect(await rig.session.load(request).text == "the body")
        try await log.entries.wait { $0.contains { $0.event.kind == .bodyIn } }
        #expect(log.lines(.bodyOut).joined() == "sent body")
        #expect(log.lines(.bodyIn).joined() == "the body")
    }

    @Test("Each event of the trace names its task, over all its hops")
    func tasks() async throws {
        let log = Log()
        let rig = try Rig { request in
            request.path == "/a" ? .redirect(to: "/b") : .text("hello")
        } configure: {
            $0.curl.trace = log.trace()
        }
        defer { rig.stop() }
        let delegate = RecordingDelegate()
        let tasks = ["/a", "/c"].map { rig.session.dataTask(with: rig.url($0)) }
        for task in tasks {
            task.delegate = delegate
            task.resume()
        }
        for task in tasks { try await delegate.success(of: task) }
        try await log.waitForHeads(3)
        let requests = tasks.map { task in
            log.lines(.headerOut, task: task.taskIdentifier).filter { $0.hasPrefix("GET ") }
        }
        #expect(requests == [["GET /a HTTP/1.1", "GET /b HTTP/1.1"], ["GET /c HTTP/1.1"]])
    }

    // MARK: - Credentials

    private static func url(_ url: URL, credentials: String) throws -> URL {
        try #require(URL(string: url.absoluteString.replacingOccurrences(of: "://", with: "://\(credentials)@")))
    }

    private static let secretFields = ["Cookie": "a=s3cret", "X-Api-Key": "s3cret"]

    @Test("Credentials are taken out of the trace")
    func credentials() async throws {
        let log = Log()
        let rig = try Rig { _ in
            .text("hello").headers(["Set-Cookie": "b=s3cret", "Location": "http://me:s3cret@elsewhere.test/"])
        } configure: {
            $0.curl.trace = log.trace {
                $0.redactedFields.insert("x-api-key")
                $0.includesBodies = true
            }
        }
        defer { rig.stop() }
        let url = try Self.url(rig.url("/"), credentials: "me:s3cret")
        for _ in 0..<2 { #expect(await rig.session.load(URLRequest(url, headers: Self.secretFields)).text == "hello") }
        try await log.waitForHeads(2)
        let token = Data("me:s3cret".utf8).base64EncodedString()
        #expect(rig.server.requests.last?.header("Authorization") == "Basic \(token)")
        #expect(!log.text.contains("s3cret"))
        #expect(!log.text.contains(token))
        let sent = log.lines(.headerOut)
        #expect(sent.contains("Authorization: Basic <redacted>"))
        #expect(sent.contains("Cookie: <redacted>"))
        #expect(sent.contains { $0.lowercased() == "x-api-key: <redacted>" })
        #expect(log.lines(.headerIn).contains("Set-Cookie: <redacted>"))
        #expect(log.lines(.headerIn).contains("Location: http://<redacted>@elsewhere.test/"))
    }

    @Test("Credentials stay in the trace if the program wants them")
    func unredacted() async throws {
        let log = Log()
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.trace = log.trace { $0.redactsCredentials = false }
        }
        defer { rig.stop() }
        #expect(await rig.session.load(URLRequest(rig.url("/"), headers: Self.secretFields)).text == "hello")
        try await log.waitForHeads(1)
        #expect(log.lines(.headerOut).contains("Cookie: a=s3cret"))
    }

    @Test("Credentials are taken out of HTTP/2's heads as well, and of libcurl's words about them")
    func http2() async throws {
        let nginx = try Nginx.shared()
        let authority = nginx.site.authority.path
        let log = Log()
        let session = URLSession.forTest {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("CAINFO", authority) }
            $0.curl.trace = log.trace { $0.includesBodies = true }
        }
        defer { session.invalidateAndCancel() }
        let url = try Self.url(nginx.tls(NginxSite.smallPath), credentials: "me:s3cret")
        let result = await session.load(URLRequest(url, headers: ["Cookie": "a=s3cret"]))
        #expect(result.text == NginxSite.smallText, "\(String(describing: result.error))")
        try await log.waitForHeads(1)
        #expect(result.response?.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0")
        #expect(log.entries.value.contains { $0.event.kind == .tlsIn })
        #expect(log.entries.value.contains { $0.event.kind == .tlsOut })
        #expect(log.lines(.headerOut).contains { $0.lowercased() == "cookie: <redacted>" })
        #expect(!log.text.contains("s3cret"))
        #expect(!log.text.contains(Data("me:s3cret".utf8).base64EncodedString()))
    }

    @Test("Credentials are taken out of a head that is too large to go out at once")
    func largeHead() async throws {
        var options = LoopbackServer.Options()
        options.headLimit = 2 << 20
        let log = Log()
        let rig = try Rig(options: options) {
            .text($0.text)
        } configure: {
            $0.curl.trace = log.trace { $0.includesBodies = true }
        }
        defer { rig.stop() }
        // No field has more than 300 KiB: such a one newer libcurls don't send.
        let secret = String(repeating: "s3cret", count: 40_000)
        let padding = String(repeating: "p", count: 240_000)
        let headers = ["Authorization": "Bearer \(secret)", "X-A": "b", "X-B": padding, "X-C": padding, "X-D": padding]
        let request = URLRequest(rig.url("/"), method: "POST", headers: headers, body: Data("sent body".utf8))
        #expect(await rig.session.load(request).text == "sent body")
        try await log.entries.wait { $0.contains { $0.event.kind == .bodyIn } }
        #expect(rig.server.requests.first?.header("Authorization")?.utf8.count == 240_007)
        #expect(log.lines(.headerOut).contains("Authorization: Bearer <redacted>"))
        #expect(log.lines(.headerOut).contains("X-A: b"))
        #expect(log.lines(.bodyOut).joined() == "sent body")
        #expect(!log.text.contains("s3cret"))
    }

    @Test("Passwords of FTP are taken out of the trace")
    func ftp() async throws {
        let server = try ScriptedFTPServer(Data("hello".utf8))
        defer { server.stop() }
        let log = Log()
        let session = URLSession.forTest { $0.curl.trace = log.trace { $0.includesBodies = true } }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: Self.url(server.url(), credentials: "me:s3cret"))
        try await log.entries.wait { $0.contains { $0.event.kind == .bodyIn } }
        #expect(server.commands.contains("PASS s3cret"))
        #expect(log.lines(.headerOut).contains("PASS <redacted>"))
        #expect(!log.text.contains("s3cret"))
        #expect(log.lines(.bodyIn) == ["hello"])
    }

    // MARK: - Its road

    @Test("A trace handler that blocks holds up no transfer")
    func blocking() async throws {
        let gate = Gate()
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.trace = .init { _, _ in gate.waitBlocking() }
        }
        defer { rig.stop() }
        for _ in 0..<10 { #expect(await rig.session.load(rig.url("/")).text == "hello") }
        gate.open()
    }

    @Test("Lookups over HTTPS, which libcurl traces by itself, don't speak on standard error")
    func quiet() async throws {
        let port = try LoopbackServer.refusingPort()
        let helper = try ChildProcess(
            [TestHelper.path(), "trace", "http://nowhere.test/", "https://127.0.0.1:\(port)/"],
            mergesErrors: true
        )
        #expect(await helper.remainingLines() == ["traced"])
    }
}
