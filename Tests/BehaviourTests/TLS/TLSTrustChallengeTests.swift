import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Challenges about a server's certificate", .timeLimit(.minutes(1)))
struct TLSTrustChallengeTests {
    typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Implements the session's method, as most programs do that pin certificates.
    final class SessionLevel: NSObject, URLSessionDelegate {
        let asked = Watched<[URLAuthenticationChallenge]>([])
        private let onChallenge: @Sendable (URLAuthenticationChallenge, Answer) -> Void

        init(_ onChallenge: @escaping @Sendable (URLAuthenticationChallenge, Answer) -> Void) {
            self.onChallenge = onChallenge
        }

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append(challenge) }
            onChallenge(challenge, completionHandler)
        }

        var trusts: [ServerTrust] { asked.value.compactMap(\.protectionSpace.serverTrust) }
    }

    /// Implements neither method.
    private final class Indifferent: NSObject, URLSessionTaskDelegate {}

    static func accepting() -> SessionLevel {
        SessionLevel { challenge, answer in
            answer(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    @Test("The delegate is asked before a good server gets the request, and shown what the server has presented")
    func question() async throws {
        let nginx = try TLSNginx.shared()
        let path = "/\(UUID().uuidString)"
        let early = Watched<Int?>(nil)
        let delegate = SessionLevel { challenge, answer in
            early.update { $0 = try? nginx.requestsSoFar(to: path) }
            answer(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.good), path)
        #expect(await session.load(url).response?.statusCode == 200)
        #expect(early.value == 0)
        #expect(try await nginx.requests(to: path) == 1)
        let challenge = try #require(delegate.asked.value.first)
        #expect(delegate.asked.value.count == 1)
        #expect(challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust)
        #expect(challenge.protectionSpace.host == "127.0.0.1")
        #expect(challenge.protectionSpace.port == url.port)
        #expect(challenge.protectionSpace.protocol == "https")
        #expect(challenge.protectionSpace.distinguishedNames == nil)
        #expect(challenge.failureResponse == nil)
        let trust = try #require(challenge.protectionSpace.serverTrust)
        #expect(trust.host == "127.0.0.1")
        #expect(trust.isTrusted)
        #expect(trust.reason == "ok")
        #expect(trust.certificates.count == 1)
        #expect(try trust.pemCertificates == [String(contentsOf: nginx.site.certificate(.good), encoding: .utf8)])
    }

    @Test(
        "A short form of an address is verified as that address, with a delegate or without",
        arguments: [true, false]
    )
    func shortAddress(hasDelegate: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let delegate = SessionLevel { $1(.performDefaultHandling, nil) }
        let session = URLSession.trusting(nginx, delegate: hasDelegate ? delegate : nil)
        defer { session.invalidateAndCancel() }
        for host in ["127.1", "127.0.1", "2130706433"] {
            let result = await session.load(nginx.url(.showing(.good), host: host))
            #expect(result.response?.statusCode == 200, "\(host): \(result)")
            let bad = await session.load(nginx.url(.showing(.wronghost), host: host))
            #expect(bad.error?.code == .serverCertificateUntrusted, "\(host): \(bad)")
        }
        // All of them share the connection to the good server; the other is asked about each time.
        #expect(delegate.asked.value.count == (hasDelegate ? 4 : 0))
        let trusts = delegate.asked.value.compactMap(\.protectionSpace.serverTrust)
        #expect(trusts.map(\.isTrusted).prefix(2) == (hasDelegate ? [true, false] : []))
    }

    @Test("The delegate is told what is wrong with a server's certificate", arguments: TLSFailureTests.cases)
    func problems(testCase: TLSFailureTests.Case) async throws {
        let nginx = try TLSNginx.shared()
        let delegate = SessionLevel { $1(.performDefaultHandling, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(nginx.url(.showing(testCase.certificate))).error)
        #expect(delegate.trusts.map(\.problem) == [testCase.problem])
        // The default handling's error is the same as without a delegate.
        #expect(error.code == testCase.code)
        #expect(error.certificateProblem == testCase.problem)
        #expect(error.curlText?.hasPrefix("SSL certificate problem: ") == true)
        #expect(error.phase == "securing")
    }

    @Test(
        "A delegate can accept what verification turns down",
        arguments: [TLSSite.Certificate.expired, .early, .wronghost, .unknown, .selfsigned]
    )
    func accept(certificate: TLSSite.Certificate) async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(certificate))).response?.statusCode == 200)
        // The decision holds for the session's later connections, and for no other host.
        let first = try #require(delegate.trusts.first)
        #expect(await session.load(nginx.url(.showing(certificate))).response?.statusCode == 200)
        #expect(delegate.trusts.count == 1)
        #expect(!first.isTrusted)
        #expect(await session.load(nginx.url(.showing(certificate), host: "localhost")).response?.statusCode == 200)
        #expect(delegate.trusts.map(\.host) == ["127.0.0.1", "localhost"])
    }

    @Test(
        "A wildcard that is only part of a label stands for no name, whether a delegate is asked or not (RFC 9525 §6.3)"
    )
    func partialWildcard() async throws {
        let nginx = try TLSNginx.shared()
        for delegate in [nil, SessionLevel { _, answer in answer(.performDefaultHandling, nil) }] {
            let session = URLSession.trusting(nginx, delegate: delegate) {
                $0.hosts["w1.part.test"].names.addresses = ["127.0.0.1"]
            }
            defer { session.invalidateAndCancel() }
            let error = await session.load(nginx.url(.showing(.wronghost), host: "w1.part.test")).error
            #expect(error?.code == .serverCertificateUntrusted)
            #expect(delegate?.trusts.count ?? 1 == 1)
        }
    }

    @Test("The decision holds for later connections, until the session is reset")
    func remembered() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        let first = await session.load(url).response?.value(forHTTPHeaderField: "X-Connection")
        await session.flush()
        let second = await session.load(url).response?.value(forHTTPHeaderField: "X-Connection")
        #expect(first != nil && second != nil && first != second)
        #expect(delegate.trusts.count == 1)
        await session.reset()
        #expect(await session.load(url).response?.statusCode == 200)
        #expect(delegate.trusts.count == 2)
    }

    @Test("A delegate that cancels or rejects gets no request sent, however good the certificate is")
    func refuse() async throws {
        let nginx = try TLSNginx.shared()
        let expected: [(URLSession.AuthChallengeDisposition, URLError.Code)] = [
            (.cancelAuthenticationChallenge, .cancelled), (.rejectProtectionSpace, .serverCertificateUntrusted),
        ]
        for (disposition, code) in expected {
            let path = "/\(UUID().uuidString)"
            let delegate = SessionLevel { $1(disposition, nil) }
            let session = URLSession.trusting(nginx, delegate: delegate)
            defer { session.invalidateAndCancel() }
            let error = try #require(await session.load(nginx.url(.showing(.good), path)).error)
            #expect(error.code == code)
            #expect((error.failureURLPeerTrust == delegate.trusts.last) == (code == .serverCertificateUntrusted))
            #expect(error.phase == "securing")
            #expect(try await nginx.requests(to: path) == 0)
        }
    }

    @Test("A credential for another server's certificates, or of another kind, opens nothing")
    func otherTrust() async throws {
        let nginx = try TLSNginx.shared()
        let first = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: first)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.expired))).response?.statusCode == 200)
        let other = try #require(first.trusts.first)
        let credentials = [
            URLCredential(trust: other), URLCredential(user: "user", password: "secret", persistence: .none), nil,
        ]
        for credential in credentials {
            let delegate = SessionLevel { $1(.useCredential, credential) }
            let session = URLSession.trusting(nginx, delegate: delegate)
            defer { session.invalidateAndCancel() }
            let error = await session.load(nginx.url(.showing(.selfsigned))).error
            #expect(error?.code == .serverCertificateHasUnknownRoot)
            #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
        }
    }

    @Test("The default handling lets a good server in, and its later connections bring no question")
    func fallBack() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = SessionLevel { $1(.performDefaultHandling, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
            await session.flush()
        }
        #expect(delegate.trusts.count == 1)
    }

    @Test("The task's method is asked where the session's is missing; with neither, verification decides")
    func taskLevel() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        })
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.selfsigned))).response?.statusCode == 200)
        #expect(delegate.challenges.value.map(\.space.authenticationMethod) == [NSURLAuthenticationMethodServerTrust])
        #expect(delegate.challenges.value.first?.queue === session.delegateQueue)
        for _ in 0..<2 {
            let silent = URLSession.trusting(nginx, delegate: Indifferent())
            defer { silent.invalidateAndCancel() }
            #expect(await silent.load(nginx.url(.showing(.good))).response?.statusCode == 200)
            let error = await silent.load(nginx.url(.showing(.selfsigned))).error
            #expect(error?.code == .serverCertificateHasUnknownRoot)
        }
    }

    /// Passes its questions on to another object, and notes the answers.
    private final class PassingOn: NSObject, URLSessionTaskDelegate {
        let answers = Watched(0)
        private let other = Indifferent()

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            let answers = answers
            other.urlSession(session, task: task, didReceive: challenge) { disposition, credential in
                answers.update { $0 += 1 }
                completionHandler(disposition, credential)
            }
        }
    }

    @Test("A delegate that passes its questions on goes on being asked, whatever the other one implements")
    func passedOn() async throws {
        let nginx = try TLSNginx.shared()
        for _ in 0..<2 {
            let delegate = PassingOn()
            let session = URLSession.trusting(nginx, delegate: delegate)
            defer { session.invalidateAndCancel() }
            #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == 200)
            #expect(delegate.answers.value == 1)
        }
    }

    /// Passes a session's questions on.
    private final class SessionPassingOn: NSObject, URLSessionDelegate {
        private let other: any URLSessionDelegate

        init(_ other: any URLSessionDelegate) {
            self.other = other
        }

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            other.urlSession(session, didReceive: challenge, completionHandler: completionHandler)
        }
    }

    /// Lets no server in.
    private final class Refusing: NSObject, URLSessionDelegate {
        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    @Test("A session's delegate may pass a question on to an object that refuses the server")
    func sessionsPassedOn() async throws {
        let nginx = try TLSNginx.shared()
        for (other, status) in [(Indifferent(), 200), (Refusing(), nil)] as [(any URLSessionDelegate, Int?)] {
            let session = URLSession.trusting(nginx, delegate: SessionPassingOn(other))
            defer { session.invalidateAndCancel() }
            #expect(await session.load(nginx.url(.showing(.good))).response?.statusCode == status)
        }
    }

    /// Never answers.
    private final class Silent: NSObject, URLSessionDelegate {
        let asked = Gate()
        private let gone: Gate

        init(gone: Gate) {
            self.gone = gone
        }

        deinit {
            gone.open()
        }

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.open()
        }
    }

    @Test("A question that is never answered keeps neither session nor delegate once its task is over")
    func unanswered() async throws {
        let nginx = try TLSNginx.shared()
        let gone = Gate()
        func ask() async throws {
            let delegate = Silent(gone: gone)
            let session = URLSession.trusting(nginx, delegate: delegate)
            let task = session.dataTask(with: nginx.url(.showing(.good)))
            task.resume()
            try await delegate.asked.wait()
            task.cancel()
        }
        try await ask()
        try await gone.wait()
    }

    @Test("A task's own delegate is asked in a session without one")
    func ownDelegate() async throws {
        let nginx = try TLSNginx.shared()
        let own = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        })
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        let (_, response) = try await session.data(from: url, delegate: own)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        // Without it, the connection that it let in serves no task.
        #expect(await session.load(url).error?.code == .serverCertificateHasUnknownRoot)
    }

    @Test("Tasks that meet the same host at once have one question between them")
    func together() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { await session.load(url).response?.statusCode } }
            for await status in group { #expect(status == 200) }
        }
        #expect(delegate.trusts.count == 1)
    }

    @Test("A refusal is for the task that asked: the others ask for themselves")
    func refusedTogether() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = SessionLevel { $1(.cancelAuthenticationChallenge, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.good))
        await withTaskGroup(of: URLError.Code?.self) { group in
            for _ in 0..<4 { group.addTask { await session.load(url).error?.code } }
            for await code in group { #expect(code == .cancelled) }
        }
        #expect(delegate.trusts.count == 4)
    }

    @Test("A task can be cancelled, or suspended and resumed, while its delegate ponders")
    func meanwhile() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let first = session.dataTask(with: nginx.url(.showing(.selfsigned)))
        first.resume()
        let question = try await delegate.challenge(number: 1)
        first.cancel()
        #expect(try await delegate.completion(of: first)?.code == .cancelled)
        question.answer(.performDefaultHandling, nil)

        let second = session.dataTask(with: nginx.url(.showing(.selfsigned)))
        second.resume()
        let again = try await delegate.challenge(number: 2)
        second.suspend()
        again.answer(.useCredential, again.space.serverTrust.map { URLCredential(trust: $0) })
        second.resume()
        #expect(try await delegate.completion(of: second) == nil)
        #expect((second.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("The idle time-out stands still until the answer, and the resource time-out runs", arguments: [true, false])
    func timeouts(isAnswered: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let silent = try LoopbackServer { _ in .never }
        defer { silent.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            $0.timeoutIntervalForRequest = 2
            if !isAnswered { $0.timeoutIntervalForResource = 4 }
        }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: nginx.url(.showing(.good)))
        task.resume()
        let asked = try await delegate.challenge(number: 1)
        guard isAnswered else {
            let error = try await delegate.completion(of: task)
            #expect(error?.code == .timedOut)
            #expect(error?.localizedDescription.contains("timeoutIntervalForResource") == true)
            return
        }
        // Another, which is begun later, times out meanwhile.
        #expect(await session.load(silent.url("/")).error?.code == .timedOut)
        #expect(task.state == .running)
        asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("An upload's body goes out once, behind the answer")
    func upload() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let path = "/\(UUID().uuidString)"
        let request = URLRequest(nginx.url(.showing(.selfsigned), path), method: "POST")
        let (_, response) = try await session.upload(for: request, from: Data(repeating: 1, count: 100_000))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try await nginx.requests(to: path) == 1)
    }

    @Test("A stream isn't read before the answer: it needs no second one")
    func stream() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let path = "/\(UUID().uuidString)"
        var request = URLRequest(nginx.url(.showing(.selfsigned), path), method: "POST")
        request.httpBodyStream = InputStream(data: Data(repeating: 1, count: 100_000))
        let (_, response) = try await session.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try await nginx.requests(to: path) == 1 && delegate.asked.value.count == 1)
    }

    @Test("Pins hold against a delegate")
    func pins() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx, delegate: Self.accepting()) { curl in
            curl.hosts[nginx.pattern(.showing(.good))].publicKeyPins = [
                "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
            ]
        }
        defer { session.invalidateAndCancel() }
        let error = await session.load(nginx.url(.showing(.good))).error
        #expect(error?.certificateProblem == .otherPublicKey)
    }

    @Test("The delegate isn't asked about a server that may show any certificate")
    func unverified() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = SessionLevel { $1(.cancelAuthenticationChallenge, nil) }
        let session = URLSession.trusting(nginx, delegate: delegate) { curl in
            curl.hosts[nginx.pattern(.showing(.selfsigned))].trustsAnyCertificate = true
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.url(.showing(.selfsigned))).response?.statusCode == 200)
        #expect(delegate.trusts.isEmpty)
    }
}
