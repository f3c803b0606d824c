import CurlNetworking
import CurlNetworkingLoopbackServer
import CurlTransport
import Foundation
import TestSupport
import Testing

/// Without a 101, a request with `Upgrade` is like any other: what a delegate hears is compared with the same request without the field.
@Suite("Requests with Upgrade that the server doesn't grant", .timeLimit(.minutes(1)))
struct UpgradeRefusalTests {
    /// What is compared.
    private struct Course: Equatable {
        let status: Int?
        let fields: [String: String]
        let body: Data?
        let error: URLError.Code?
        let phase: String?
        let received: Int64
    }

    private func course(
        of request: URLRequest,
        upgrade: String?,
        from handler: @escaping LoopbackServer.Handler,
        configure: (URLSessionConfiguration) -> Void
    ) async throws -> Course {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate, handler: handler, configure: configure)
        defer { rig.stop() }
        var request = request
        request.url = request.url.flatMap { rig.url($0.path) }
        if let upgrade { request.setValue(upgrade, forHTTPHeaderField: "Upgrade") }
        let task = rig.session.dataTask(with: request)
        task.resume()
        let error = try await delegate.completion(of: task)
        let response = task.response as? HTTPURLResponse
        var fields: [String: String] = [:]
        for (name, value) in response?.allHeaderFields ?? [:] { fields["\(name)"] = "\(value)" }
        fields["Date"] = nil
        return Course(
            status: response?.statusCode,
            fields: fields,
            body: delegate.body(of: task),
            error: error?.code,
            phase: error?.phase,
            received: task.countOfBytesReceived
        )
    }

    private func compare(
        _ method: String = "GET",
        body: Data? = nil,
        _ handler: @escaping LoopbackServer.Handler,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws {
        var request = URLRequest(url: try #require(URL(string: "http://host.test/first")))
        request.httpMethod = method
        request.httpBody = body
        let ordinary = try await course(of: request, upgrade: nil, from: handler, configure: configure)
        let upgrading = try await course(of: request, upgrade: "echo", from: handler, configure: configure)
        #expect(upgrading == ordinary)
    }

    private enum Answer: CaseIterable {
        case length, empty, chunked, largeChunks, untilClose, noContent, notModified, refused, gzip, gzipInChunks
        case hints, oldVersion, large
    }

    private static let coded = CodedBodies.gzip

    private static func response(_ answer: Answer) -> LoopbackServer.Response {
        switch answer {
        case .length: .text("hello")
        case .empty: .status(200)
        case .chunked: .chunked(["a", "bc", "def"], trailers: ["Checksum": "1"])
        case .largeChunks: .chunked(.generated(length: 3_000_000, seed: 1))
        case .untilClose: .text("hello").untilClose()
        case .noContent: .status(204)
        case .notModified: .status(304)
        case .refused: .text("Upgrade to something else", status: 426).header("Upgrade", "other")
        case .gzip: .data(coded).header("Content-Encoding", "gzip")
        case .gzipInChunks:
            .chunked([.bytes(coded.prefix(100)), .bytes(coded.dropFirst(100))]).header("Content-Encoding", "gzip")
        case .hints:
            .raw([
                .bytes("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
            ])
        case .oldVersion: .raw([.bytes("HTTP/1.0 200 OK\r\nA: b\r\n\r\nall of it"), .close])
        case .large: .generated(length: 5_000_000, seed: 2)
        }
    }

    @Test("Every response and its body come as without the field", arguments: Answer.allCases)
    private func responses(_ answer: Answer) async throws {
        try await compare { _ in Self.response(answer) }
    }

    @Test("Nothing is decoded where the program has libcurl decode nothing", arguments: [true, false])
    func undecoded(offersNothing: Bool) async throws {
        try await compare { _ in
            Self.response(.gzip)
        } configure: {
            $0.curl.configureTransfer = { transfer, _ in
                if offersNothing {
                    try transfer.set("ACCEPT_ENCODING", nil)
                } else {
                    try transfer.set("HTTP_CONTENT_DECODING", false)
                }
            }
        }
    }

    @Test("An option of libcurl that couldn't be applied to such a request fails it before it connects")
    func uselessOption() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello")
        } configure: {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("REFERER", "http://a.test/") }
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: URLRequest(rig.url("/"), headers: ["Upgrade": "echo"]))
        task.resume()
        let error = try #require(try await delegate.completion(of: task))
        #expect((error.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)?.option == "REFERER")
        #expect(rig.server.connectionCount == 0)
    }

    @Test("The metrics count the body before and after decoding", arguments: [Answer.length, .gzip, .gzipInChunks])
    private func metrics(_ answer: Answer) async throws {
        let delegate = TimelineDelegate()
        let rig = try Rig(delegate: delegate) { _ in Self.response(answer) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: URLRequest(rig.url("/"), headers: ["Upgrade": "echo"]))
        task.resume()
        let transaction = try #require(try await delegate.metrics().transactionMetrics.first)
        let arrived = answer == .length ? "hello".utf8.count : Self.coded.count
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(arrived))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == task.countOfBytesReceived)
    }

    @Test("HEAD has no body, whatever its length says")
    func head() async throws {
        try await compare("HEAD") { _ in .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")]) }
    }

    private static let mistakes: [LoopbackServer.Fault] = [
        .beforeAnyByte, .insideHead, .afterHead(length: 10), .insideBody(after: 5, of: 10), .insideChunk(after: 5),
        .malformedChunk, .garbage,
    ]

    @Test("A server's fault is the same error as without the field", arguments: mistakes.indices)
    func faults(_ index: Int) async throws {
        try await compare { _ in .fault(Self.mistakes[index]) }
    }

    @Test("Bytes that begin no response, and no line that ends, are the same error as without the field")
    func otherProtocol() async throws {
        // What a server of TLS answers to a request without it.
        try await compare { _ in .raw([.bytes(Data([0x15, 3, 1, 0, 2, 2, 0x46])), .close]) }
    }

    @Test("Bodies in either direction are what they were, and so is an echo of them", arguments: ["POST", "PUT"])
    func uploads(_ method: String) async throws {
        try await compare(method, body: GeneratedBody.bytes(seed: 3, range: 0..<300_000)) { .data($0.body) }
        try await compare(method, body: Data()) { .text("\($0.header("Content-Length") ?? "none")") }
    }

    @Test("After an error status the body is sent no further, so a server that resets the connection is heard out")
    func abandonedUpload() async throws {
        let isHeld = Gate()
        let answer = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        let delegate = RecordingDelegate(
            onResponse: { _, _, answering in
                answer.update { $0 = answering }
                isHeld.open()
            }
        )
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .raw([
                .stopReading, .bytes("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nab"),
                .waitFor(isHeld), .bytes("cde"), .reset,
            ])
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: "POST", headers: ["Upgrade": "echo"])
        // More than the system holds.
        request.httpBody = Data(count: 32 << 20)
        let task = rig.session.dataTask(with: request)
        task.resume()
        try await isHeld.wait()
        try await rig.server.waitUntilNoConnections()
        // The second round begins after the first one has polled the sockets.
        for _ in 0..<2 { _ = await rig.session.connections }
        answer.value?(.allow)
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("abcde".utf8))
        #expect(task.countOfBytesSent < 32 << 20)
    }

    @Test("A task that is suspended amid an early response goes on with the request's body when it is resumed")
    func suspendedUpload() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .raw([
                .stopReading, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"), .waitFor(gate),
                .resumeReading, .waitForBody, .bytes("cde"),
            ])
        }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: "POST", headers: ["Upgrade": "echo"])
        // More than the system holds.
        request.httpBody = Data(count: 32 << 20)
        let task = rig.session.dataTask(with: request)
        task.resume()
        try await delegate.wait(for: task, bytes: 2)
        task.suspend()
        // The loop has seen the suspension when it has seen what came after it.
        _ = await rig.session.connections
        gate.open()
        // All that was on its way has gone: the next piece has its turn while the task is suspended.
        try await rig.server.waitForBodyBytesReceived(task.countOfBytesSent)
        _ = await rig.session.connections
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("abcde".utf8))
        #expect(rig.server.requests.first?.bodyLength == 32 << 20)
    }

    @Test("A body without a length is sent in chunks")
    func streamedBody() async throws {
        let rig = try Rig(delegate: RecordingDelegate()) { .data($0.body) }
        defer { rig.stop() }
        let delegate = try #require(rig.session.delegate as? RecordingDelegate)
        var request = URLRequest(url: rig.url("/"))
        request.httpMethod = "POST"
        let body = GeneratedBody.bytes(seed: 4, range: 0..<200_000)
        request.httpBodyStream = InputStream(data: body)
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        let task = rig.session.dataTask(with: request)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == body)
        #expect(rig.server.requests.first?.header("Transfer-Encoding") == "chunked")
        #expect(task.countOfBytesSent == 200_000)
    }

    @Test("A redirect is followed, with the field")
    func redirect() async throws {
        try await compare { request in
            request.path == "/first" ? .redirect(to: "/second") : .text("\(request.path)")
        }
    }

    @Test("A challenge is answered, and cookies are stored")
    func challenge() async throws {
        try await compare { request in
            request.header("Authorization") == nil && request.header("Cookie") == nil
                ? .redirect(to: "/second").header("Set-Cookie", "a=b") : .text(request.header("Cookie") ?? "none")
        }
        let rig = try Rig(delegate: nil) { request in
            request.header("Authorization") == nil
                ? .status(401).header("WWW-Authenticate", "Basic realm=\"r\"") : .text("let in")
        }
        defer { rig.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        var components = try #require(URLComponents(url: rig.url("/"), resolvingAgainstBaseURL: false))
        (components.user, components.password) = ("user", "secret")
        var request = URLRequest(url: try #require(components.url))
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        let task = session.dataTask(with: request)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.onlyBody == Data("let in".utf8))
    }

    @Test("A delegate that is slow, or suspends the task, holds the server up")
    func backPressure() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onResponse: { task, _, answer in
                task.suspend()
                answer(.allow)
                gate.open()
            }
        )
        let rig = try Rig(delegate: delegate) { _ in .generated(length: 1 << 40) }
        defer { rig.stop() }
        var request = URLRequest(url: rig.url("/"))
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        let task = rig.session.dataTask(with: request)
        task.resume()
        try await gate.wait()
        try await rig.server.waitUntilBlocked()
        #expect(task.countOfBytesReceived < 4 << 20)
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        try await rig.server.waitUntilNoConnections()
    }

    @Test("While some of a body is decoded on another thread, nothing more of it is taken")
    func decoding() async throws {
        let isHeard = Gate()
        let delegate = RecordingDelegate(
            keepsBodies: false,
            onResponse: { _, _, answer in
                answer(.allow)
                isHeard.open()
            }
        )
        // Before anything comes of it, a whole window is decoded.
        let bomb = Bombs.brotli(mebibytes: 3072).coded
        let rig = try Rig(delegate: delegate) { _ in
            .raw([
                .bytes("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n"), .waitFor(isHeard), .bytes(bomb),
                .body(.generated(length: 1 << 30)), .close,
            ])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: URLRequest(rig.url("/"), headers: ["Upgrade": "echo"]))
        task.resume()
        try await delegate.wait(for: task) { $0.name == "data" }
        // What the system holds on both sides.
        #expect(rig.server.bytesSent < 16 << 20)
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("A response that becomes a stream without a 101 can only be read")
    func readOnly() async throws {
        let recorder = StreamRecorder()
        let rig = try Rig(delegate: recorder) { _ in .text("hello") }
        defer { rig.stop() }
        var request = URLRequest(url: rig.url("/"))
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        rig.session.dataTask(with: request).resume()
        try await recorder.wait(for: .becameStream)
        let task = try #require(recorder.record.value.streamTask)
        await #expect(throws: URLError.self) { try await task.write("a") }
        #expect(try await task.rest() == "hello")
        #expect(try await recorder.completion() == nil)
    }

    // MARK: - Requests that are ordinary ones in spite of the field

    @Test("Through an HTTP proxy without a tunnel, the request is an ordinary one but for the field")
    func openProxy() async throws {
        let proxy = try LoopbackServer { .text("openly \($0.target)") }
        defer { proxy.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.curl.proxy = .server(CurlOptions.ProxyServer(.http, host: "127.0.0.1", port: proxy.port))
            $0.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://host.test/path?query"))
        for headers in [[:], ["Upgrade": "echo"]] as [[String: String]] {
            let task = session.dataTask(with: URLRequest(url, headers: headers))
            task.resume()
            try await delegate.success(of: task)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
            #expect(delegate.body(of: task) == Data("openly http://host.test/path?query".utf8))
            #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        }
        let heads = proxy.requests.map { request in
            Set(String(decoding: request.rawHead, as: UTF8.self).components(separatedBy: "\r\n"))
        }
        try #require(heads.count == 2)
        #expect(heads[1] == heads[0].union(["Upgrade: echo"]))
        #expect(heads[0].contains("GET http://host.test/path?query HTTP/1.1") && !heads[0].contains("Upgrade: echo"))
        // One that might become a stream would have had a connection of its own.
        #expect(proxy.connectionCount == 1)
    }

    @Test("With a credential for NTLM, the request is an ordinary one", .enabled(if: CurlLibrary.hasNTLM))
    func ntlm() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            let credential = URLCredential(user: "user", password: "secret", persistence: .forSession)
            asked.answer(isFirst ? .useCredential : .performDefaultHandling, isFirst ? credential : nil)
        })
        let rig = try Rig(delegate: delegate) { request in
            switch NTLM.kind(request) {
            case 1: .text("step", status: 401).header("WWW-Authenticate", "NTLM \(NTLM.question)")
            case 3: .text("let in")
            default: .text("closed", status: 401).header("WWW-Authenticate", "NTLM")
            }
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: URLRequest(rig.url("/"), headers: ["Upgrade": "echo"]))
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(delegate.body(of: task) == Data("let in".utf8))
        let requests = rig.server.requests
        #expect(requests.map(NTLM.kind) == [nil, 1, 3])
        #expect(requests.map { $0.header("Upgrade") } == ["echo", "echo", "echo"])
        // As long as there was no credential, it might have become a stream.
        #expect(requests.map { $0.header("Connection") } == ["Upgrade", nil, nil])
        #expect(requests.map(\.connection) == [1, 2, 2])
    }
}
