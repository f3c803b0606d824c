import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Challenges", .timeLimit(.minutes(1)))
struct AuthenticationChallengeTests {
    @Test("The delegate is asked on its queue, with everything there is to know")
    func question() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/room"))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("open GET /room ".utf8))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        let asked = try await delegate.challenge(number: 1)
        #expect(asked.queue === session.delegateQueue)
        #expect(asked.space.host == "127.0.0.1")
        #expect(asked.space.port == server.port)
        #expect(asked.space.protocol == "http")
        #expect(asked.space.realm == "vault")
        #expect(asked.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
        #expect(!asked.space.isProxy())
        #expect(asked.challenge.previousFailureCount == 0)
        #expect(asked.challenge.proposedCredential == nil)
        #expect(asked.challenge.error == nil)
        #expect(asked.status == 401)
        #expect(server.shown == [nil, Guard.token()])
        // The 401's body was short: the connection was kept.
        #expect(server.connectionCount == 1)
    }

    @Test("Without a delegate, the 401 is the response", arguments: [0, 100, 5_000_000])
    func nobody(length: Int64) async throws {
        let rig = try Rig { _ in
            .body(.generated(length: length), status: 401).header("WWW-Authenticate", #"Basic realm="vault""#)
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 401)
        #expect(result.data?.count == Int(length))
        let bare = URLSession.forTest { $0.urlCredentialStorage = nil }
        defer { bare.invalidateAndCancel() }
        let (data, response) = try await bare.data(from: rig.url("/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 401)
        #expect(data.count == Int(length))
        #expect(rig.server.requestCount == 2)
    }

    @Test(
        "A 401 that can't be answered is the response",
        arguments: ["", "Bearer realm=x", "garbage", "Digest realm=\"r\"", "=,\"", "OAuth a=b, Hoba c=d"]
    )
    func unanswerable(challenge: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Rig(delegate: delegate) { _ in
            challenge.isEmpty
                ? .text("no", status: 401) : .text("no", status: 401).header("WWW-Authenticate", challenge)
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(result.text == "no")
        #expect(delegate.challenges.value.isEmpty)
    }

    enum Kind: CaseIterable { case delegate, handler, async, download, bytes, upload }

    @Test("Tasks of every kind ask the delegate for a credential", arguments: Kind.allCases)
    func kinds(kind: Kind) async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        let text: String
        switch kind {
        case .delegate:
            let task = session.dataTask(with: url)
            task.resume()
            #expect(try await delegate.completion(of: task) == nil)
            text = String(decoding: delegate.body(of: task) ?? Data(), as: UTF8.self)
        case .handler:
            text = await session.load(url).text ?? ""
        case .async:
            text = String(decoding: try await session.data(from: url).0, as: UTF8.self)
        case .download:
            let (file, _) = try await session.download(from: url)
            defer { try? FileManager.default.removeItem(at: file) }
            text = try String(contentsOf: file, encoding: .utf8)
        case .bytes:
            text = try await session.bytes(from: url).0.lines.reduce("", +)
        case .upload:
            let (data, _) = try await session.upload(for: URLRequest(url, method: "PUT"), from: Data("up".utf8))
            text = String(decoding: data, as: UTF8.self)
        }
        #expect(text == (kind == .upload ? "open PUT / up" : "open GET / "))
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("A challenge that names no realm is one all the same")
    func withoutRealm() async throws {
        let server = try Guard.basic("Basic")
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.response?.statusCode == 200)
        #expect(delegate.challenges.value.map(\.space.realm) == ["127.0.0.1"])
    }

    @Test("Wrong credentials are counted, and asked about again until they are right")
    func failures() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            let count = asked.challenge.previousFailureCount
            asked.answer(.useCredential, count == 3 ? .right() : .wrong(count))
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.text == "open GET / ")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1, 2, 3])
        #expect(delegate.challenges.value.allSatisfy { $0.challenge.proposedCredential == nil })
        #expect(server.requestCount == 5)
    }

    @Test("A delegate that insists on what was refused gets the 401, and no loop")
    func insisting() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .wrong()) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(result.text == "closed")
        #expect(server.requestCount == 2)
    }

    /// Refuses everything, each time for another realm.
    private static func shifting(_ scheme: String, _ delegate: DecidingDelegate) throws -> Rig {
        let count = Counter()
        return try Rig(delegate: delegate) { _ in
            .text("closed", status: 401).header("WWW-Authenticate", "\(scheme) realm=\"\(count.next())\"")
        }
    }

    @Test(
        "A server that names a new realm after each answer has refused it: the failures are counted",
        arguments: ["Basic", #"Digest nonce="n", qop="auth","#]
    )
    func shiftingRealm(scheme: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(isFirst ? .useCredential : .performDefaultHandling, isFirst ? .right() : nil)
        })
        let rig = try Self.shifting(scheme, delegate)
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401 && result.error == nil)
        #expect(delegate.challenges.value.map(\.space.realm) == ["1", "2"])
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
        #expect(rig.server.requestCount == 2)
    }

    @Test(
        "A server that names a new realm after each answer doesn't get the same password for each",
        arguments: ["Basic", #"Digest nonce="n", qop="auth","#]
    )
    func shiftingRealmInsisting(scheme: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Self.shifting(scheme, delegate)
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        #expect(result.response?.statusCode == 401 && result.error == nil)
        #expect(rig.server.requestCount == 2)
    }

    @Test("Another space to which a redirect leads is asked about afresh")
    func redirectedRealm() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            guard asked.space.realm == "a" else {
                let other = URLCredential(user: "other", password: "secret", persistence: .forSession)
                return asked.answer(.useCredential, other)
            }
            asked.answer(.useCredential, asked.challenge.previousFailureCount == 0 ? .wrong() : .right())
        })
        let rig = try Rig(delegate: delegate) { request in
            let isFirst = request.path == "/a"
            guard request.header("Authorization") == Guard.token(isFirst ? "user" : "other") else {
                return .text("closed", status: 401)
                    .header("WWW-Authenticate", "Basic realm=\(isFirst ? "a" : "b")")
            }
            return isFirst ? .redirect(to: "/b") : .text("open")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/a")).text == "open")
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1, 0])
    }

    @Test("A body is sent again with the credential", arguments: [5, 3_000_000])
    func bodies(length: Int64) async throws {
        let body = GeneratedBody.bytes(seed: 8, length: Int(length))
        let server = try Guard.basic()
        defer { server.stop() }
        let session = URLSession.forTest(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        )
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(server.url("/"), method: "POST", body: body))
        #expect(result.response?.statusCode == 200)
        #expect(server.requests.map(\.body) == [body, body])
    }

    /// Answers a redirect with a stream, a challenge with a credential, and has as many streams as it is given.
    private final class Source: NSObject, URLSessionDataDelegate {
        let asked = Watched(0)
        let completed = Watched<[URLError?]>([])
        private let makeStream: @Sendable (Int) -> String?

        /// `makeStream` returns the content of the stream with this number, from 1.
        init(_ makeStream: @escaping @Sendable (Int) -> String?) {
            self.makeStream = makeStream
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            var request = request
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data("stream 0".utf8))
            completionHandler(request)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            let number = asked.update { count in
                count += 1
                return count
            }
            completionHandler(makeStream(number).map { InputStream(data: Data($0.utf8)) })
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.useCredential, .right())
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completed.update { $0.append(error as? URLError) }
        }
    }

    @Test("A stream is asked for again, and is not sent without")
    func streams() async throws {
        for givesStreams in [true, false] {
            let server = try Guard.basic()
            defer { server.stop() }
            let source = Source { _ in givesStreams ? "stream" : nil }
            let session = URLSession.forTest(delegate: source)
            defer { session.invalidateAndCancel() }
            var request = URLRequest(server.url("/"), method: "POST")
            request.httpBodyStream = InputStream(data: Data("stream".utf8))
            session.uploadTask(withStreamedRequest: request).resume()
            try await source.completed.wait { !$0.isEmpty }
            #expect(source.completed.value[0]?.code == (givesStreams ? nil : .requestBodyStreamExhausted))
            // For each request, and the request's own stream serves once where there is none.
            #expect(source.asked.value == 2)
            #expect(server.requests.map(\.text) == (givesStreams ? ["stream", "stream"] : ["stream"]))
        }
    }

    @Test(
        "A stream that answered a redirect is sent once; for the next request the delegate is asked for another",
        arguments: [true, false]
    )
    func redirectedStreams(givesStreams: Bool) async throws {
        let guarded = try Guard.basic()
        defer { guarded.stop() }
        let url = guarded.url("/")
        let first = try LoopbackServer { _ in .redirect(to: url) }
        defer { first.stop() }
        let source = Source { givesStreams ? "stream \($0)" : nil }
        let session = URLSession.forTest(delegate: source)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: first.url("/")).resume()
        try await source.completed.wait { !$0.isEmpty }
        #expect(source.completed.value[0]?.code == (givesStreams ? nil : .requestBodyStreamExhausted))
        #expect(source.asked.value == 1)
        #expect(guarded.requests.map(\.text) == (givesStreams ? ["stream 0", "stream 1"] : ["stream 0"]))
    }

    @Test("A header set by hand is shown first, and replaced by the answer")
    func byHand() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let session = URLSession.forTest(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        )
        defer { session.invalidateAndCancel() }
        let result = await session.load(URLRequest(server.url("/"), headers: ["Authorization": "Bearer old"]))
        #expect(result.response?.statusCode == 200)
        #expect(server.shown == ["Bearer old", Guard.token()])
        #expect(server.requests[1].headers(named: "Authorization").count == 1)
    }

    @Test(
        "Names and passwords with any characters arrive as they are (RFC 7617 §2.1)",
        arguments: ["ä€", "a\r\nX: y", "p:q", ""]
    )
    func characters(password: String) async throws {
        let server = try Guard.basic(tokens: [Guard.token("user", password)])
        defer { server.stop() }
        let credential = URLCredential(user: "user", password: password, persistence: .none)
        let session = URLSession.forTest(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, credential) })
        )
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.response?.statusCode == 200)
        #expect(server.requests[1].header("X") == nil)
    }
}
