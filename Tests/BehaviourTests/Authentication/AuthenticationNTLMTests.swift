import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("NTLM authentication", .enabled(if: CurlLibrary.hasNTLM), .timeLimit(.minutes(1)))
struct AuthenticationNTLMTests {
    /// Knows whom it let in on which connection, and takes any answer that names the user.
    ///
    /// - Parameter forgets: Whether it wants each request authenticated.
    private static func server(accepts: Bool = true, forgets: Bool = false) throws -> LoopbackServer {
        let open = Watched(Set<Int>())
        return try LoopbackServer { request in
            if open.value.contains(request.connection) { return .text("open \(request.method) \(request.text)") }
            switch NTLM.kind(request) {
            case 1: return .text("step", status: 401).header("WWW-Authenticate", "NTLM \(NTLM.question)")
            case 3 where accepts:
                let name = Data("user".utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] })
                guard NTLM.message(request)?.range(of: name) != nil else { return .status(400) }
                if !forgets { open.update { _ = $0.insert(request.connection) } }
                return .text("open \(request.method) \(request.text)")
            default: return .text("closed", status: 401).header("WWW-Authenticate", "NTLM")
            }
        }
    }

    @Test("libcurl leads the conversation, whose steps are never the task's response")
    func conversation() async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(delegate.body(of: task) == Data("open GET ".utf8))
        let asked = try await delegate.challenge(number: 1)
        #expect(asked.space.authenticationMethod == NSURLAuthenticationMethodNTLM)
        #expect(asked.space.realm == "127.0.0.1")
        #expect(rig.server.requests.map(NTLM.kind) == [nil, 1, 3])
        #expect(rig.server.requests[1].connection == rig.server.requests[2].connection)
    }

    @Test("An authenticated connection serves later requests without another challenge")
    func connection() async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Rig(Self.server(), delegate: delegate)
        defer { rig.stop() }
        for _ in 0..<3 { #expect(await rig.session.load(rig.url("/")).text == "open GET ") }
        #expect(delegate.challenges.value.count == 1)
        #expect(rig.server.requestCount == 5)
        #expect(Set(rig.server.requests.suffix(3).map(\.connection)).count == 1)
    }

    @Test(
        "A server that wants each request authenticated gets a new conversation on the same connection",
        arguments: ["GET", "PUT"]
    )
    func eachRequest(method: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Rig(Self.server(forgets: true), delegate: delegate)
        defer { rig.stop() }
        let body = method == "PUT" ? Data("up".utf8) : nil
        for _ in 0..<3 {
            let result = await rig.session.load(URLRequest(rig.url("/"), method: method, body: body))
            #expect(result.text == (method == "PUT" ? "open PUT up" : "open GET "), "\(result)")
        }
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("A body is sent with the last step of the conversation")
    func body() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let session = URLSession.forTest(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        )
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.upload(for: URLRequest(server.url("/"), method: "PUT"), from: Data("up".utf8))
        #expect(data == Data("open PUT up".utf8))
    }

    /// The answer in which the conversation ends, when `user` is let in; an error if there is none.
    private static func answer(of user: String, _ password: String) async throws -> Data {
        let server = try LoopbackServer { request in
            switch NTLM.kind(request) {
            case 1: .text("step", status: 401).header("WWW-Authenticate", "NTLM \(NTLM.question)")
            case 3: .text("open")
            default: .text("closed", status: 401).header("WWW-Authenticate", "NTLM")
            }
        }
        defer { server.stop() }
        let credential = URLCredential(user: user, password: password, persistence: .none)
        let session = URLSession.forTest(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, credential) })
        )
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        return try #require(server.requests.last.flatMap(NTLM.message))
    }

    @Test(
        "Names reach the server in UTF-16, not as bytes of UTF-8, and in capitals where their proof needs them",
        arguments: [("jürgen", "jÜrgen"), ("ÅSA", "ÅSA"), ("straße", "straße"), ("bücher\\jürgen", "jÜrgen")]
    )
    func name(user: String, sent: String) async throws {
        let answer = try await Self.answer(of: user, "geheim")
        let name = Data(sent.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] })
        #expect(answer.range(of: name) != nil)
    }

    @Test(
        "Names and passwords that libcurl can't express fail the task, which says so",
        arguments: [("Łukasz", "secret"), ("user", "пароль"), ("aÿ", "secret")]
    )
    func inexpressible(user: String, password: String) async throws {
        let error = await #expect(throws: URLError.self) { _ = try await Self.answer(of: user, password) }
        #expect(error?.code == .userAuthenticationRequired)
        #expect(error?.localizedDescription.contains("NTLM") == true)
    }

    @Test("A refusal is put to the delegate again")
    func refused() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(isFirst ? .useCredential : .performDefaultHandling, isFirst ? .wrong() : nil)
        })
        let rig = try Rig(Self.server(accepts: false), delegate: delegate)
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(result.text == "closed")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
    }

    @Test("A server whose steps never end counts as one that has refused the credential")
    func endless() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(isFirst ? .useCredential : .performDefaultHandling, isFirst ? .right() : nil)
        })
        let rig = try Rig(delegate: delegate) { request in
            let token = NTLM.kind(request) == nil ? "" : " \(NTLM.question)"
            return .text("step", status: 401).header("WWW-Authenticate", "NTLM\(token)")
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401 && result.error == nil)
        #expect(rig.server.requestCount < 40)
    }

    @Test("What a proxy says to another CONNECT in the middle of a conversation is never the server's response")
    func secondTunnel() async throws {
        let tunnels = Counter()
        let heads = Counter()
        let steal = try LoopbackServer { _ in .text("stolen") }
        defer { steal.stop() }
        let proxy = try LoopbackServer { request in
            guard request.method == "CONNECT" else { return .status(400) }
            // After the first step, which comes through the second tunnel, the connection is cut.
            guard tunnels.next() <= 2 else {
                return .redirect(to: steal.url("/"), status: 307).header("Set-Cookie", "evil=1")
            }
            return .raw([
                .bytes("HTTP/1.1 200 Connection established\r\n\r\n"),
                .converse { event in
                    guard case .received = event else { return [] }
                    let count = heads.next()
                    let token = count == 1 ? "" : " \(NTLM.question)"
                    let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: NTLM\(token)\r\nContent-Length: 0\r\n"
                    return count == 1
                        ? [.bytes(head + "Connection: close\r\n\r\n"), .close]
                        : [.bytes(head + "\r\n"), .close]
                },
            ])
        }
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        var server = CurlOptions.ProxyServer(host: "127.0.0.1", port: proxy.port)
        server.alwaysTunnels = true
        let session = URLSession.through(server, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load("http://a.example/")
        #expect(result.error != nil && result.text != "stolen")
        #expect(steal.requestCount == 0)
        #expect(session.configuration.httpCookieStorage?.cookies?.isEmpty != false)
    }

    @Test("A step of the server's with which libcurl can't go on is the response", arguments: ["closed", ""])
    func brokenConversation(body: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(isFirst ? .useCredential : .performDefaultHandling, isFirst ? .right() : nil)
        })
        let rig = try Rig(delegate: delegate) { request in
            let token = NTLM.kind(request) == nil ? "" : " bm90aGluZw=="
            return .text(body, status: 401).header("WWW-Authenticate", "NTLM\(token)")
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(result.text == body)
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
    }
}
