import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Requests with Upgrade, whose 101 becomes a stream", .timeLimit(.minutes(1)))
struct UpgradeTests {
    private static let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

    /// Sends back what it gets, and ends when the client does.
    private static let echo: LoopbackServer.Conversation = { event in
        if case .received(let data) = event { [.bytes(data)] } else { [] }
    }

    private static func server(
        _ head: String = head,
        _ conversation: @escaping LoopbackServer.Conversation = echo
    ) throws -> LoopbackServer {
        var options = LoopbackServer.Options()
        options.allowsHalfClose = true
        return try LoopbackServer(options: options) { _ in .raw([.bytes(head), .converse(conversation)]) }
    }

    private func request(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        return request
    }

    @Test("An upgraded connection goes both ways, until both sides have ended")
    func both() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/path?query")))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
        #expect(
            task.taskIdentifier == rig.dataTask.taskIdentifier && rig.dataTask.state == .completed
                && task.state == .running
        )
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        try await task.write("goodbye")
        task.closeWrite()
        #expect(try await task.rest() == "goodbye")
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.becameStream, .writeClosed, .readClosed, .completed(nil)])
        try await server.waitUntilNoConnections()
        let received = try #require(server.requests.first)
        #expect(received.target == "/path?query")
        #expect(received.header("Upgrade") == "echo" && received.header("Connection") == "Upgrade")
        #expect(received.header("Host") == "127.0.0.1:\(server.port)")
    }

    @Test("An upgraded task's metrics are those of the request and the 101")
    func metrics() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        rig.task.closeWrite()
        #expect(try await rig.task.rest() == "")
        #expect(try await rig.recorder.completion() == nil)
        let transaction = try #require(rig.recorder.record.value.metrics?.transactionMetrics.first)
        #expect(transaction.remotePort == String(server.port))
        #expect(transaction.requestStartDate != nil && transaction.responseStartDate != nil)
        #expect(transaction.countOfResponseHeaderBytesReceived == Int64(Self.head.utf8.count))
    }

    @Test("Bytes in the same packet as the 101 are read first")
    func behindTheHead() async throws {
        let server = try Self.server(Self.head + "early")
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await task.write("late")
        #expect(try await task.text(9) == "earlylate")
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        try await server.waitUntilNoConnections()
    }

    @Test("A 101 has no body, whatever its fields say", arguments: ["Content-Length: 3", "Transfer-Encoding: chunked"])
    func bodyLength(_ field: String) async throws {
        let server = try Self.server(Self.head.dropLast(2) + field + "\r\n\r\n")
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        task.closeWrite()
        #expect(try await task.rest() == "")
        #expect(try await recorder.completion() == nil)
    }

    @Test("A server that closes the connection after its 101 ends the reads, and fails what is written")
    func closed() async throws {
        let server = try LoopbackServer { _ in .raw([.bytes(Self.head + "bye"), .close]) }
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        #expect(try await task.rest() == "bye")
        // The delegate hears of the end on its own queue, which the read doesn't wait for.
        try await recorder.wait(for: .readClosed)
        #expect(recorder.events == [.becameStream, .readClosed])
        await #expect(throws: URLError.self) { while true { try await task.write("a") } }
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
    }

    @Test("The server's end leaves the stream open for writing")
    func halfClosed() async throws {
        let received = Watched("")
        let server = try HalfClosingServer(greeting: Self.head + "all") { data in
            received.update { $0 += String(decoding: data, as: UTF8.self) }
        }
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let rig = try await StreamRig(request(url))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        #expect(try await task.rest() == "all")
        try await task.write("still here")
        task.closeWrite()
        #expect(try await recorder.completion() == nil)
        try await received.wait { $0.hasSuffix("\r\n\r\nstill here") }
    }

    @Test("A request's body is sent before the protocol changes, though the server answers at the head")
    func body() async throws {
        let received = Watched(Data())
        let server = try LoopbackServer(answering: .atHead) { _ in
            .raw([
                .bytes(Self.head), .waitForBody,
                .converse { event in
                    if case .received(let data) = event { received.update { $0 += data } }
                    return []
                },
            ])
        }
        defer { server.stop() }
        var request = request(server.url("/"))
        request.httpMethod = "POST"
        request.httpBody = GeneratedBody.bytes(seed: 1, range: 0..<3_000_000)
        let rig = try await StreamRig(request)
        defer { rig.stop() }
        let task = rig.task
        try await task.write("after")
        try await received.wait { $0 == Data("after".utf8) }
        #expect(server.requests.first?.body == request.httpBody)
        task.cancel()
    }

    @Test("A delegate that allows the response gets what follows as its body", arguments: [true, false])
    func allowed(_ isDownload: Bool) async throws {
        let server = try LoopbackServer { _ in .raw([.bytes(Self.head + "one "), .bytes("two"), .close]) }
        defer { server.stop() }
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(isDownload ? .becomeDownload : .allow) })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: request(server.url("/")))
        task.resume()
        try await delegate.record.wait { !$0.completions.isEmpty }
        #expect(delegate.record.value.error == nil)
        #expect(delegate.onlyBody == Data("one two".utf8))
    }

    @Test("The time that a delegate takes to decide about a 101 is not the server's")
    func slowDecision() async throws {
        let server = try LoopbackServer { _ in .raw([.bytes(Self.head + "hello"), .close]) }
        defer { server.stop() }
        let silence = try SilentServer()
        defer { silence.stop() }
        let answers = Watched<[RecordingDelegate.Disposition]>([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let session = URLSession.forTest(delegate: delegate) { $0.timeoutIntervalForRequest = 3 }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: request(server.url("/")))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        // Its time begins later, and ends.
        let other = await session.load(try #require(URL(string: "http://127.0.0.1:\(silence.port)/")))
        #expect(other.error?.code == .timedOut)
        answers.value.first?(.allow)
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("For handlers and async calls, what follows a 101 is the body")
    func handlers() async throws {
        let server = try LoopbackServer { _ in .raw([.bytes(Self.head + "hello"), .close]) }
        defer { server.stop() }
        let session = URLSession.forTest(delegate: StreamRecorder())
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(for: request(server.url("/")))
        #expect(data == Data("hello".utf8) && (response as? HTTPURLResponse)?.statusCode == 101)
    }

    @Test("An unrequested 101 becomes a stream that can only be read")
    func unasked() async throws {
        let server = try LoopbackServer { _ in .raw([.bytes(Self.head + "hello"), .close]) }
        defer { server.stop() }
        let rig = try await StreamRig(URLRequest(url: server.url("/")))
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        await #expect(throws: URLError.self) { try await task.write("a") }
        #expect(try await task.rest() == "hello")
        #expect(try await recorder.completion() == nil)
    }

    @Test("TLS can't be started on an upgraded connection for which configureTransfer has set whom to trust")
    func configuredTLS() async throws {
        let nginx = try TLSNginx.shared()
        let server = try SwitchingServer(nginx.site, upgrades: true)
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let authority = nginx.site.authority.path
        let rig = try await StreamRig(request(url)) { recorder in
            .trusting(nginx, delegate: recorder) {
                $0.configureTransfer = { transfer, _ in try transfer.set("CAINFO", authority) }
            }
        }
        defer { rig.stop() }
        try await rig.task.beginTLS()
        let error = try #require(try await rig.recorder.completion())
        #expect((error.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)?.option == "CAINFO")
    }

    @Test("TLS can be started on an upgraded connection, and its streams can be captured")
    func security() async throws {
        let nginx = try TLSNginx.shared()
        let server = try SwitchingServer(nginx.site, upgrades: true)
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let rig = try await StreamRig(request(url)) { recorder in
            .trusting(nginx, delegate: recorder)
        }
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        try await task.beginTLS()
        try await task.write("secret\n")
        #expect(try await task.line() == "TLS: secret")
        task.captureStreams()
        try await recorder.wait(for: .captured)
        let (input, output) = try #require(recorder.record.value.streams)
        input.open()
        output.open()
        #expect(output.write(Array("more\n".utf8), maxLength: 5) == 5)
        var buffer = [UInt8](repeating: 0, count: 10)
        var text = ""
        while !text.hasSuffix("\n") {
            let count = input.read(&buffer, maxLength: 10)
            guard count > 0 else { break }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        #expect(text == "TLS: more\n")
        input.close()
        output.close()
    }

    private func secureRig(_ server: SwitchingServer) async throws -> StreamRig {
        let nginx = try TLSNginx.shared()
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        return try await StreamRig(request(url)) { .trusting(nginx, delegate: $0) }
    }

    @Test("An upgrade over https goes both ways within TLS, and its connection can't be captured")
    func https() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site, upgrades: true, overTLS: true)
        defer { server.stop() }
        let rig = try await secureRig(server)
        defer { rig.stop() }
        let (task, recorder) = (rig.task, rig.recorder)
        #expect(recorder.record.value.challenges == [NSURLAuthenticationMethodServerTrust])
        try await task.write("hello\n")
        #expect(try await task.line() == "plain: hello")
        task.captureStreams()
        #expect(try await recorder.completion()?.code == .cannotLoadFromNetwork)
    }

    @Test("A server that closes an upgrade's connection over https without ending TLS is an error")
    func truncation() async throws {
        let server = try SwitchingServer(TLSNginx.shared().site, upgrades: true, overTLS: true)
        defer { server.stop() }
        let rig = try await secureRig(server)
        defer { rig.stop() }
        try await rig.task.write("drop\n")
        #expect(try await rig.task.line() == "plain: drop")
        await #expect { try await rig.task.rest() } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
        #expect(try await rig.recorder.completion()?.code == .networkConnectionLost)
    }

    @Test("An upgrade goes through SOCKS, and over https through an HTTP proxy", arguments: [true, false])
    func proxies(_ isSOCKS: Bool) async throws {
        let nginx = try TLSNginx.shared()
        let server = try SwitchingServer(nginx.site, upgrades: true, overTLS: !isSOCKS)
        defer { server.stop() }
        let proxy = isSOCKS ? try Dante.shared().server(.socks5h) : try Squid.shared().server(.open)
        let url = try #require(URL(string: "\(isSOCKS ? "http" : "https")://127.0.0.1:\(server.port)/"))
        let rig = try await StreamRig(request(url)) { recorder in
            .trusting(nginx, delegate: recorder) { $0.proxy = .server(proxy) }
        }
        defer { rig.stop() }
        let task = rig.task
        try await task.write("hello\n")
        #expect(try await task.line() == "plain: hello")
        task.cancel()
    }

    @Test("An upgrade goes over a Unix socket")
    func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        var options = LoopbackServer.Options()
        options.allowsHalfClose = true
        let path = directory.url.appendingPathComponent("server.sock").path
        let server = try LoopbackServer(unixSocket: .path(path), options: options) { _ in
            .raw([.bytes(Self.head), .converse(Self.echo)])
        }
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        try await rig.task.write("hello")
        rig.task.closeWrite()
        #expect(try await rig.task.rest() == "hello")
        #expect(try await rig.recorder.completion() == nil)
    }

    @Test("A suspended task leaves the stream alone, and goes on with it")
    func suspended() async throws {
        let arrived = Watched("")
        let server = try Self.server { event in
            if case .received(let data) = event { arrived.update { $0 += String(decoding: data, as: UTF8.self) } }
            return Self.echo(event)
        }
        defer { server.stop() }
        let rig = try await StreamRig(request(server.url("/")))
        defer { rig.stop() }
        let task = rig.task
        task.suspend()
        let text = Watched("")
        task.readData(ofMinLength: 5, maxLength: 5, timeout: 0) { data, _, _ in
            text.update { $0 = String(decoding: data ?? Data(), as: UTF8.self) }
        }
        task.write(Data("hello".utf8), timeout: 0) { _ in }
        try await arrived.standsStill()
        #expect(arrived.value.isEmpty && text.value.isEmpty)
        task.resume()
        try await text.wait { $0 == "hello" }
        task.cancel()
    }
}
