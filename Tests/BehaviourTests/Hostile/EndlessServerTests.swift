import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Servers that never come to an end", .timeLimit(.minutes(1)))
struct EndlessServerTests {
    @Test("A server that shows another certificate each time fails the task after fifty questions to the delegate")
    func certificates() async throws {
        let server = try ManyCertificates()
        let delegate = TLSTrustChallengeTests.accepting()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(server.url).error)
        #expect(error.code == .secureConnectionFailed)
        #expect(error.phase == "securing")
        #expect(error.localizedDescription.contains("new certificates"))
        #expect(delegate.trusts.count == 50)
        // It was that task's bound, and is no other's.
        #expect(await session.load(server.url).error?.code == .secureConnectionFailed)
        #expect(delegate.trusts.count == 100)
    }

    @Test("A download in parts of ten bytes fails after little more than a hundred, and can be resumed elsewhere")
    func parts() async throws {
        let mends = Gate()
        let origin = try ResumeOrigin(next: { request in
            let whole = ResumeOrigin.Response.resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            guard !mends.isOpen, let range = request.header("Range"), let offset = Int64(range.dropFirst(6).dropLast())
            else { return whole }
            let part = ResumeOrigin.Response.body(ResumeOrigin.body[offset..<offset + 10])
            return part.partial("bytes \(offset)-\(offset + 9)/\(ResumeOrigin.length)").header(
                "ETag",
                ResumeOrigin.etag
            )
        })
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        let error = try #require(resumed.error)
        #expect(error.code == .badServerResponse)
        #expect(error.localizedDescription.contains("too small"))
        #expect(error.phase == "receiving")
        #expect((100...110).contains(origin.server.requestCount))
        mends.open()
        let data = try #require(error.downloadTaskResumeData)
        let mended = try await paused.resume(data)
        #expect(mended.error == nil && mended.hasContinued)
        #expect(mended.body == ResumeOrigin.bytes)
    }

    /// Answers each challenge with another password: one that was refused isn't sent again, whatever realm is named.
    private static func guessing() -> DecidingDelegate {
        DecidingDelegate(onChallenge: { asked in
            let password = "guess \(asked.challenge.previousFailureCount)"
            asked.answer(.useCredential, URLCredential(user: "user", password: password, persistence: .none))
        })
    }

    @Test(
        "A server that names another realm each time fails the task after fifty questions to the delegate",
        arguments: [401, 407]
    )
    func realms(status: Int) async throws {
        let field = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
        let proxy = try ScriptedProxy { request in
            .text("who?", status: status).header(field, "Basic realm=\"\(request.ordinal)\"")
        }
        defer { proxy.stop() }
        let delegate = Self.guessing()
        let session = URLSession.through(proxy.settings(), delegate: delegate)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load("http://a.example/").error)
        #expect(error.code == .userAuthenticationRequired)
        #expect(error.localizedDescription.contains("more than 50 times"))
        #expect(delegate.challenges.value.count == 50)
        #expect(proxy.server.requestCount == 51)
    }

    @Test("A proxy that names another realm at each CONNECT fails the task after fifty questions to the delegate")
    func tunnel() async throws {
        let proxy = try ScriptedProxy { request in
            .text("who?", status: 407).header("Proxy-Authenticate", "Basic realm=\"\(request.ordinal)\"")
        }
        defer { proxy.stop() }
        let delegate = Self.guessing()
        let session = URLSession.through(proxy.settings(tunnel: true), delegate: delegate)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load("http://a.example/").error)
        #expect(error.code == .userAuthenticationRequired)
        #expect(error.localizedDescription.contains("more than 50 times"))
        #expect(delegate.challenges.value.count == 50)
    }

    @Test("An endless body of a 407 to CONNECT fails the task", arguments: [false, true])
    func tunnelBody(isChunked: Bool) async throws {
        let body = LoopbackServer.Body.generated(length: 1 << 40)
        let field = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.length)"
        let proxy = try ScriptedProxy { _ in
            .raw([
                .bytes("HTTP/1.1 407 Who\r\n\(field)\r\n\r\n"),
                isChunked ? .chunks(body, size: 65536) : .body(body),
            ])
        }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(tunnel: true))
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load("http://a.example/").error)
        #expect(error.code == .badServerResponse)
        #expect(error.localizedDescription.contains("too large"))
        #expect(proxy.server.requestCount == 1)
    }

    @Test("A server that sends empty frames as fast as they are read fails its task, and others get their turns")
    func emptyFrames() async throws {
        let begins = Gate()
        let endless = try ScriptedHTTP2Server { _ in
            [.headers(ScriptedHTTP2Server.fields(), ends: false), .open(begins), .endlessFrames]
        }
        defer { endless.stop() }
        let server = try ScriptedHTTP2Server { _ in ScriptedHTTP2Server.text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.timeoutIntervalForRequest = 20
            $0.curl.eventLoops = 1
            $0.curl.httpVersion = .http2PriorKnowledge
        }
        defer { session.invalidateAndCancel() }
        async let failed = session.load(endless.url())
        try await begins.wait()
        for _ in 0..<10 { #expect(await session.load(server.url()).text == "hello") }
        let result = await failed
        // Where the machine reads faster than the server sends, that is a time-out.
        #expect(result.error != nil)
    }

    @Test("The 21st redirect in a row ends the task, whatever the delegate answers")
    func redirects() async throws {
        let server = try LoopbackServer { .redirect(to: "/\($0.ordinal)") }
        defer { server.stop() }
        let delegate = DecidingDelegate(onRedirect: { redirect in
            redirect.answer(URLRequest(url: server.url("/mine/\(redirect.request.url?.path ?? "")")))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).error?.code == .httpTooManyRedirects)
        #expect(delegate.redirects.value.count == 20)
        #expect(server.requestCount == 21)
    }

    @Test("Endless trailers fail the task, unless its body isn't wanted")
    func trailers() async throws {
        let trailers = String(repeating: "A: b\r\n", count: 60_000)
        let rig = try Rig { request in
            if request.path == "/end" { return .text("end") }
            let head = request.path == "/" ? "200 OK" : "302 Found\r\nLocation: /end"
            let text = "HTTP/1.1 \(head)\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\(trailers)\r\n"
            return .raw([.bytes(text)])
        }
        defer { rig.stop() }
        let error = await rig.session.load(rig.url("/")).error
        #expect(error?.code == .badServerResponse)
        // Newer versions of libcurl have a limit of their own.
        let description = error?.localizedDescription ?? ""
        #expect(description.contains("trailers") || description.contains("Too many response headers"))
        #expect(await rig.session.load(rig.url("/redirect")).text == "end")
    }

    @Test("A task whose kept connections are always dead tries again, and gives up")
    func deadConnections() async throws {
        let rig = try Rig { request in
            request.path == "/warm" ? .text("warm") : .fault(.beforeAnyByte)
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        for _ in 0..<5 {
            #expect(await rig.session.load(rig.url("/warm")).text == "warm")
            let before = rig.server.requestCount
            #expect(await rig.session.load(rig.url("/")).error?.code == .networkConnectionLost)
            // Once over the kept connection; libcurl itself, and the task, may send it again on new ones.
            #expect((1...4).contains(rig.server.requestCount - before))
        }
    }
}
