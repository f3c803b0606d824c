import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Stream tasks over TLS", .timeLimit(.minutes(1)))
struct SecureStreamTests {
    private static let request = "GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"

    private func task(_ session: URLSession, _ url: URL) throws -> URLSessionStreamTask {
        session.streamTask(withHostName: try #require(url.host), port: try #require(url.port))
    }

    @Test(
        "startSecureConnection speaks TLS from the first byte, and verifies the server",
        arguments: [TLSNginx.Port.old, .new]
    )
    func fromTheStart(_ port: TLSNginx.Port) async throws {
        let nginx = try TLSNginx.shared()
        let recorder = StreamRecorder()
        let session = URLSession.trusting(nginx, delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = try task(session, nginx.url(port))
        task.startSecureConnection()
        task.resume()
        try await task.write(Self.request)
        #expect(try await task.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
        task.closeWrite()
        #expect(try await recorder.completion() == nil)
        #expect(recorder.record.value.challenges == [NSURLAuthenticationMethodServerTrust])
        let connection = try #require(recorder.record.value.metrics?.transactionMetrics.first)
        #expect(connection.negotiatedTLSProtocolVersion == (port == .new ? .TLSv13 : .TLSv12))
        #expect(connection.negotiatedTLSCipherSuite != nil)
    }

    @Test(
        "A server that isn't trusted fails the task with the reason, and gets nothing",
        arguments: [
            (TLSSite.Certificate.expired, URLError.Code.serverCertificateHasBadDate),
            (.early, .serverCertificateNotYetValid), (.wronghost, .serverCertificateUntrusted),
            (.unknown, .serverCertificateHasUnknownRoot), (.selfsigned, .serverCertificateHasUnknownRoot),
        ]
    )
    func untrusted(_ certificate: TLSSite.Certificate, _ code: URLError.Code) async throws {
        let nginx = try TLSNginx.shared()
        for delegate in [nil, StreamRecorder()] {
            let session = URLSession.trusting(nginx, delegate: delegate)
            defer { session.invalidateAndCancel() }
            let task = try task(session, nginx.url(.showing(certificate)))
            task.startSecureConnection()
            task.resume()
            await #expect { try await task.write("secret") } throws: { ($0 as? URLError)?.code == code }
            if let delegate {
                #expect(try await delegate.completion()?.code == code)
                #expect(delegate.record.value.error?.failureURLPeerTrust != nil)
            }
        }
    }

    @Test("A delegate may trust an untrusted server, reject one, and cancel")
    func challenges() async throws {
        let nginx = try TLSNginx.shared()
        let answers: [(StreamRecorder.ChallengeAnswer, URLError.Code?)] = [
            ((.useCredential, nil), .serverCertificateHasUnknownRoot),
            ((.rejectProtectionSpace, nil), .serverCertificateUntrusted),
            ((.cancelAuthenticationChallenge, nil), .cancelled),
        ]
        for (answer, code) in answers {
            let recorder = StreamRecorder { _ in answer }
            let session = URLSession.trusting(nginx, delegate: recorder)
            defer { session.invalidateAndCancel() }
            let task = try task(session, nginx.url(.showing(.selfsigned)))
            task.startSecureConnection()
            task.resume()
            #expect(try await recorder.completion()?.code == code)
        }
        let recorder = StreamRecorder { challenge in
            (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
        let session = URLSession.trusting(nginx, delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = try task(session, nginx.url(.showing(.selfsigned)))
        task.startSecureConnection()
        task.resume()
        try await task.write(Self.request)
        #expect(try await task.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Trusts every server, in both methods.
    private final class BothLevels: NSObject, URLSessionTaskDelegate {
        let asked = Watched<[String]>([])

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append("session") }
            completionHandler(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append("task") }
            completionHandler(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    /// Trusts every server, in the session's method. Isn't the delegate of any task.
    private final class SessionLevel: NSObject, URLSessionDelegate {
        let wasOnQueue = Watched<[Bool]>([])

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            wasOnQueue.update { $0.append(OperationQueue.current === session.delegateQueue) }
            completionHandler(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    /// The same in the async form, of an object that could have the task's method as well.
    private final class AsyncSessionLevel: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    private final class Indifferent: NSObject, URLSessionTaskDelegate {}

    /// What a server answers that only a delegate trusts.
    private func answer(
        session delegate: any URLSessionDelegate,
        task own: (any URLSessionTaskDelegate)? = nil
    ) async throws -> String {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = try task(session, nginx.url(.showing(.selfsigned)))
        task.delegate = own
        task.startSecureConnection()
        task.resume()
        try await task.write(Self.request)
        return try await task.rest()
    }

    @Test("The task's method is asked first, and the session's where no delegate has that")
    func whoIsAsked() async throws {
        let both = BothLevels()
        #expect(try await answer(session: both).hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(both.asked.value == ["task"])
        let sessions = SessionLevel()
        #expect(try await answer(session: sessions).hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(try await answer(session: sessions, task: Indifferent()).hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(sessions.wasOnQueue.value == [true, true])
        let own = BothLevels()
        #expect(try await answer(session: sessions, task: own).hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(own.asked.value == ["task"])
        #expect(sessions.wasOnQueue.value.count == 2)
        for own in [nil, Indifferent()] {
            let text = try await answer(session: AsyncSessionLevel(), task: own)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test("Where no delegate has either method, verification decides")
    func nobodyIsAsked() async throws {
        for own in [nil, Indifferent()] {
            await #expect {
                try await answer(session: Indifferent(), task: own)
            } throws: {
                ($0 as? URLError)?.code == .serverCertificateHasUnknownRoot
            }
        }
    }

    @Test("Versions of TLS that contradict each other fail the task once TLS is to begin")
    func impossibleVersions() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) {
            $0.tlsMinimumSupportedProtocolVersion = .TLSv13
            $0.tlsMaximumSupportedProtocolVersion = .TLSv12
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("plain")
        #expect(try await task.text(5) == "plain")
        task.startSecureConnection()
        let error = try await recorder.completion()
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.localizedDescription.contains("newer than the newest") == true)
    }

    @Test(
        "An option about TLS that configureTransfer has set fails the task once TLS is to begin, and the error names it",
        arguments: ["CRLFILE", "CAINFO", "ISSUERCERT", "TLS13_CIPHERS", "SSL_VERIFYSTATUS", "SSLVERSION"]
    )
    func configuredTLS(name: String) async throws {
        let site = try TLSNginx.shared().site
        let texts = ["CRLFILE": site.authority.path, "CAINFO": site.authority.path, "ISSUERCERT": site.authority.path]
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) {
            $0.curl.configureTransfer = { transfer, _ in
                try transfer.set("SSL_SESSIONID_CACHE", false)
                switch name {
                case "SSL_VERIFYSTATUS": try transfer.set("SSL_VERIFYSTATUS", true)
                // CURL_SSLVERSION_MAX_TLSv1_2
                case "SSLVERSION": try transfer.set("SSLVERSION", 6 << 16)
                default: try transfer.set(CurlOption(name), texts[name] ?? "TLS_AES_128_GCM_SHA256")
                }
            }
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("plain")
        #expect(try await task.text(5) == "plain")
        task.startSecureConnection()
        let error = try await recorder.completion()
        #expect(error?.code == .unknown)
        let refusal = try #require(error?.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)
        #expect(refusal.option == CurlOption(name))
        #expect(refusal.reason.contains("curl.tls"))
        #expect(recorder.record.value.challenges == [])
    }

    @Test("Options that only libcurl's own TLS has don't keep a stream from beginning TLS")
    func configuredConnection() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx) {
            $0.configureTransfer = { transfer, _ in
                try transfer.set("SSL_SESSIONID_CACHE", false)
                try transfer.set("SSL_ENABLE_ALPN", true)
                try transfer.set("TCP_NODELAY", false)
            }
        }
        defer { session.invalidateAndCancel() }
        let task = try task(session, nginx.url(.new))
        task.startSecureConnection()
        task.resume()
        try await task.write(Self.request)
        #expect(try await task.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("A server that wants a certificate gets the delegate's", arguments: [TLSNginx.Port.asking, .askingInOldWay])
    func clientCertificate(_ port: TLSNginx.Port) async throws {
        let nginx = try TLSNginx.shared()
        let identity = TLSIdentity.pem(certificates: .file(nginx.site.client), privateKey: .file(nginx.site.clientKey))
        let recorder = StreamRecorder { challenge in
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
                return (.performDefaultHandling, nil)
            }
            return (.useCredential, URLCredential(identity: identity, persistence: .forSession))
        }
        let session = URLSession.trusting(nginx, delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = try task(session, nginx.url(port))
        task.startSecureConnection()
        task.resume()
        try await task.write(Self.request)
        #expect(try await task.rest().contains("CN=a client"))
    }

    @Test("A key that isn't the pinned one fails the task")
    func pins() async throws {
        let nginx = try TLSNginx.shared()
        for (pin, succeeds) in [
            (try nginx.site.goodPin(), true), ("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", false),
        ] {
            let recorder = StreamRecorder()
            let session = URLSession.trusting(nginx, delegate: recorder) { $0.hosts["127.0.0.1"].publicKeyPins = [pin] }
            defer { session.invalidateAndCancel() }
            let task = try task(session, nginx.url(.showing(.good)))
            task.startSecureConnection()
            task.resume()
            do {
                try await task.write(Self.request)
                #expect(succeeds)
            } catch {
                #expect(!succeeds && (error as? URLError)?.code == .serverCertificateUntrusted)
            }
        }
    }

    @Test("TLS begins after what was queued before it, ends, and begins again, on one connection")
    func inTheMiddle() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.trusting(try TLSNginx.shared(), delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("plain\n")
        #expect(try await task.line() == "plain: plain")
        for round in 1...2 {
            try await task.beginTLS()
            try await task.write("secret \(round)\n")
            #expect(try await task.line() == "TLS: secret \(round)")
            try await task.write("stop\n")
            #expect(try await task.line() == "TLS: stop")
            task.stopSecureConnection()
            try await task.write("plain again\n")
            #expect(try await task.line() == "plain: plain again")
        }
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
    }

    /// - Parameter isFetched: Whether the bytes have been read from the system, together with those that a read waited for.
    @Test(
        "Bytes that came in plain text before TLS was begun, and weren't read, end the task",
        arguments: [false, true]
    )
    func injection(isFetched: Bool) async throws {
        let received = Watched(Data())
        let server = try LoopbackServer { _ in
            { event in
                guard case .received(let data) = event else { return [] }
                let isFirst = received.update { all in
                    all.append(data)
                    return all.count == data.count
                }
                return isFirst ? [.bytes("go ahead\ninjected\n")] : []
            }
        }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.timeoutIntervalForRequest = 10 }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        let answer = Watched<Data?>(nil)
        func read() {
            task.readData(ofMinLength: 9, maxLength: 9, timeout: 0) { data, _, _ in answer.update { $0 = data } }
        }
        if isFetched { read() }
        try await task.write("start\n")
        if !isFetched {
            try await server.waitForBytesSent(18)
            read()
        }
        try await answer.wait { $0 == Data("go ahead\n".utf8) }
        task.startSecureConnection()
        #expect(try await recorder.completion()?.code == .secureConnectionFailed)
        // No handshake is begun if it is known by then.
        if isFetched { #expect(received.value == Data("start\n".utf8)) }
    }

    @Test("A server that doesn't answer the handshake lets it time out")
    func silence() async throws {
        let server = try SilentServer()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.startSecureConnection()
        task.resume()
        #expect(try await recorder.completion()?.code == .timedOut)
        #expect(recorder.record.value.error?.phase == "securing")
    }

    @Test("A task that is suspended amid the handshake doesn't time out before it is resumed")
    func suspendedHandshake() async throws {
        let hello = Gate()
        let server = try LoopbackServer { _ in
            { event in if case .received = event { [.open(hello)] } else { [] } }
        }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.startSecureConnection()
        task.resume()
        try await hello.wait()
        task.suspend()
        // Its time begins later, and ends.
        let other = await session.load(server.url("/"))
        #expect(other.error?.code == .timedOut)
        #expect(recorder.events == [])
        task.resume()
        #expect(try await recorder.completion()?.code == .timedOut)
    }

    /// A session, and a task of it that has begun TLS with the server.
    private func secured(
        by server: SwitchingServer,
        _ recorder: StreamRecorder? = nil
    ) async throws -> (URLSession, URLSessionStreamTask) {
        let session = URLSession.trusting(try TLSNginx.shared(), delegate: recorder)
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.beginTLS()
        return (session, task)
    }

    @Test("A server that closes the connection without ending TLS is an error: something may be missing")
    func truncation() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let (session, task) = try await secured(by: server)
        defer { session.invalidateAndCancel() }
        try await task.write("drop\n")
        #expect(try await task.line() == "TLS: drop")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
    }

    @Test("A server that closes the connection instead of ending TLS is an error, after what came before")
    func truncationOfEnd() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let (session, task) = try await secured(by: server)
        defer { session.invalidateAndCancel() }
        try await task.write("drop\n")
        task.stopSecureConnection()
        #expect(try await task.line() == "TLS: drop")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
    }

    @Test("A server that closes the connection once it has everything doesn't fail a task that wants nothing more")
    func reset() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let (session, task) = try await secured(by: server, recorder)
        defer { session.invalidateAndCancel() }
        task.closeRead()
        try await task.write("leave\n")
        task.closeWrite()
        let error = try await recorder.completion()
        #expect(error == nil, "\(String(describing: error?.userInfo))")
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test("Bytes that a server sent within TLS before a write failed can still be read, though the task is over")
    func lastWords() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let (session, task) = try await secured(by: server, recorder)
        defer { session.invalidateAndCancel() }
        try await task.write("leave\n")
        await #expect(throws: URLError.self) { try await task.write(Data(count: 64 << 20), timeout: 0) }
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
        #expect(try await task.line() == "TLS: leave")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
    }

    @Test("Bytes that came before closeWrite can be read, though TLS is ended after that")
    func unreadAtEnd() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let (session, task) = try await secured(by: server)
        defer { session.invalidateAndCancel() }
        try await task.write("pair\n")
        #expect(try await task.line() == "TLS: pair")
        #expect(try await task.text(1) == "1")
        task.closeWrite()
        task.stopSecureConnection()
        #expect(try await task.rest() == "\n2\n")
    }

    @Test("Plain text that comes with the end of TLS isn't read, though TLS is ended here after that")
    func plainTextAfterEnd() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let (session, task) = try await secured(by: server, recorder)
        defer { session.invalidateAndCancel() }
        try await task.write("bye\n")
        #expect(try await task.line() == "TLS: bye")
        #expect(try await task.rest() == "")
        task.stopSecureConnection()
        #expect(try await task.rest() == "")
        task.closeWrite()
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.readClosed, .writeClosed, .completed(nil)])
    }

    @Test("A server that goes on to send within TLS, more than is kept, fails the task")
    func talkative() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let (session, task) = try await secured(by: server, recorder)
        defer { session.invalidateAndCancel() }
        try await task.write("flood\n")
        #expect(try await task.line() == "TLS: flood")
        task.stopSecureConnection()
        let error = try #require(try await recorder.completion())
        #expect(error.code == .networkConnectionLost)
        #expect(error.localizedDescription.contains("more than is kept"))
    }

    @Test("TLS can't be begun with a server that has closed the connection")
    func end() async throws {
        let server = try HalfClosingServer(greeting: "bye") { _ in }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        #expect(try await task.rest() == "bye")
        task.startSecureConnection()
        #expect(try await recorder.completion()?.code == .secureConnectionFailed)
    }
}
