import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Streams of one HTTP/2 connection, and those who take their time", .timeLimit(.minutes(1)))
struct HTTP2FlowControlTests {
    let nginx: NginxHTTP2
    let delegate = RecordingDelegate()

    init() throws {
        nginx = try NginxHTTP2.shared()
    }

    /// Loads something of each size on the connection of `task`.
    private func expectNeighboursToLoad(
        _ listener: NginxHTTP2.Listener,
        in session: URLSession,
        beside task: URLSessionTask
    ) async {
        let expected = [
            NginxSite.smallPath: Data(NginxSite.smallText.utf8), NginxSite.mebibytePath: NginxSite.mebibyte,
            NginxSite.textPath: Data(NginxSite.text.utf8),
        ]
        for (path, content) in expected {
            let result = await session.load(nginx.url(listener, path))
            #expect(result.data == content, "\(String(describing: result.error))")
            #expect(NginxHTTP2.connection(of: result.response) == NginxHTTP2.connection(of: task.response))
        }
    }

    @Test("Bytes for a task that is cancelled before it takes them are freed while others use its connection")
    func cancelledWhilePaused() async throws {
        final class Holding: NSObject, URLSessionDataDelegate {
            let answers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])

            func urlSession(
                _ session: URLSession,
                dataTask: URLSessionDataTask,
                didReceive response: URLResponse,
                completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
            ) {
                answers.update { $0.append(completionHandler) }
            }
        }
        let holding = Holding()
        let session = nginx.session(delegate: holding)
        defer { session.invalidateAndCancel() }
        let slow = try LoopbackServer { _ in .never }
        defer { slow.stop() }
        session.dataTask(with: nginx.url(.tls, "/proxy/\(slow.port)/")).resume()
        try await slow.waitForRequests(1)
        func cancelOne() async throws {
            session.dataTask(with: nginx.url(.tls, NginxSite.largePath)).resume()
            try await holding.answers.wait { !$0.isEmpty }
            // Meanwhile libcurl reads what comes for the other as well.
            #expect(await session.load(nginx.url(.tls, NginxSite.mebibytePath)).data == NginxSite.mebibyte)
            holding.answers.update { $0.removeFirst() }(.cancel)
        }
        for _ in 0..<10 { try await cancelOne() }
        let added = try await ProcessUsage.added { for _ in 0..<60 { try await cancelOne() } }
        // Each would leave up to 32 MB.
        #expect(added.resident < ProcessUsage.growth(of: 200 << 20))
    }

    @Test(
        "The end of a body that comes at once with more than a small buffer takes is noticed, however small that is to be",
        arguments: [1, 3, 20],
        [nil, 4096, 64 << 10]
    )
    func endInOnePiece(count: Int, bufferSize: Int?) async throws {
        let content = GeneratedBody.bytes(seed: 12, length: 20_000)
        let server = try ScriptedHTTP2Server { request in
            [
                .headers(ScriptedHTTP2Server.fields(), ends: false),
                .frames([
                    ScriptedHTTP2Server.frame(.data, stream: request.stream, content.prefix(10_000)),
                    ScriptedHTTP2Server.frame(.data, flags: 1, stream: request.stream, content.suffix(10_000)),
                ]),
            ]
        }
        defer { server.stop() }
        let session = URLSession.forPatientHTTP2 { $0.curl.connections.receiveBufferSize = bufferSize }
        defer { session.invalidateAndCancel() }
        let results = await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<count { group.addTask { await session.load(server.url()) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.map(\.data) == Array(repeating: content, count: count))
    }

    @Test(
        "A body whose rate is limited comes to its end, of known length or not, whatever else the loop does",
        arguments: [true, false]
    )
    func rates(hasLength: Bool) async throws {
        let content = GeneratedBody.bytes(seed: 11, length: 600_000)
        let length = hasLength ? [("content-length", "600000")] : []
        let other = try LoopbackServer { _ in .text("other") }
        defer { other.stop() }
        let server = try ScriptedHTTP2Server { _ in
            [.headers(ScriptedHTTP2Server.fields(length), ends: false)]
                + stride(from: 0, to: content.count, by: 10_000).map {
                    .data(content[$0..<($0 + 10_000)], ends: $0 + 10_000 == content.count)
                }
        }
        defer { server.stop() }
        let session = URLSession.forPatientHTTP2 {
            $0.curl.connections.maximumReceiveRate = 200_000
            $0.curl.hosts["127.0.0.1:\(other.port)"].httpVersion = .automatic
        }
        defer { session.invalidateAndCancel() }
        let neighbours = Task {
            while !Task.isCancelled { #expect(await session.load(other.url).text == "other") }
        }
        #expect(await session.load(server.url()).data == content)
        neighbours.cancel()
        await neighbours.value
    }

    @Test("Rates hold back what is received and what is sent over HTTP/2", arguments: ["GET", "PUT"])
    func heldBack(method: String) async throws {
        // At its rate the limited transfer takes minutes.
        let content = GeneratedBody.bytes(seed: 14, length: 16 << 20)
        let server = try LoopbackServer { $0.method == "PUT" ? .text("\($0.bodyLength)") : .data(content) }
        defer { server.stop() }
        let session = nginx.session {
            $0.curl.connections.maximumReceiveRate = 100_000
            $0.curl.connections.maximumSendRate = 100_000
        }
        defer { session.invalidateAndCancel() }
        let body = method == "PUT" ? content : nil
        let request = URLRequest(nginx.url(.plain, "/proxy/\(server.port)/"), method: method, body: body)
        let limited = session.dataTask(with: request)
        limited.resume()
        let free = nginx.session()
        defer { free.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await free.load(request)
            #expect(result.error == nil && NginxHTTP2.connection(of: result.response) != nil)
        }
        #expect(limited.state == .running)
        #expect(limited.countOfBytesReceived + limited.countOfBytesSent < Int64(content.count))
    }

    @Test(
        "A suspended task doesn't hold up the others, and goes on where it was",
        arguments: [NginxHTTP2.Listener.plain, .tls]
    )
    func suspended(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let length = 48 << 20
        let server = try LoopbackServer { _ in .generated(length: Int64(length), seed: 8) }
        defer { server.stop() }
        let task = session.dataTask(with: nginx.url(listener, "/proxy/\(server.port)/large"))
        task.resume()
        try await delegate.wait(for: task, bytes: 1)
        task.suspend()
        // Until there is no room for more: neither nginx nor the session takes the rest.
        try await server.waitUntilBlocked()
        await expectNeighboursToLoad(listener, in: session, beside: task)
        #expect(task.countOfBytesReceived < length)
        task.resume()
        await expectNeighboursToLoad(listener, in: session, beside: task)
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 8, length: length))
    }

    @Test(
        "A reader that takes its time holds up no other task on its connection",
        arguments: [NginxHTTP2.Listener.plain, .tls]
    )
    func slowReader(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let length = 48 << 20
        let server = try LoopbackServer { _ in .generated(length: Int64(length), seed: 9) }
        defer { server.stop() }
        let (bytes, _) = try await session.bytes(from: nginx.url(listener, "/proxy/\(server.port)/large"))
        try await server.waitUntilBlocked()
        await expectNeighboursToLoad(listener, in: session, beside: bytes.task)
        var body = Data()
        for try await chunk in bytes.chunks {
            if body.count >> 23 != (body.count + chunk.count) >> 23 {
                await expectNeighboursToLoad(listener, in: session, beside: bytes.task)
            }
            body.append(chunk)
        }
        #expect(body == GeneratedBody.bytes(seed: 9, length: length))
    }

    @Test(
        "A reader of a small body that decodes to a large one holds up no other task on its connection",
        arguments: [NginxHTTP2.Listener.plain, .tls]
    )
    func bomb(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let bomb = Bombs.doublyZipped
        let server = try LoopbackServer { _ in .data(bomb.coded).header("Content-Encoding", "gzip, gzip") }
        defer { server.stop() }
        let (bytes, _) = try await session.bytes(from: nginx.url(listener, "/proxy/\(server.port)/bomb"))
        await expectNeighboursToLoad(listener, in: session, beside: bytes.task)
        #expect(bytes.task.countOfBytesReceived <= Int64(URLSession.AsyncBytes.maximumWaitingBytes + 32 * 1024))
        var count: Int64 = 0
        for try await chunk in bytes.chunks { count += Int64(chunk.count) }
        #expect(count == bomb.length)
        await expectNeighboursToLoad(listener, in: session, beside: bytes.task)
    }

    @Test("The bytes that still come for a paused task are bounded", arguments: [NginxHTTP2.Listener.plain, .tls])
    func bounded(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let length: Int64 = 128 << 20
        let server = try LoopbackServer { _ in .generated(length: length) }
        defer { server.stop() }
        let (bytes, _) = try await session.bytes(from: nginx.url(listener, "/proxy/\(server.port)/large"))
        // More than the window of 32 MiB passes by on the connection, and each answer fetches some of the paused stream.
        for _ in 0..<40 {
            let result = await session.load(nginx.url(listener, NginxSite.mebibytePath))
            #expect(result.data == NginxSite.mebibyte)
        }
        // The window, and what the sockets and nginx hold.
        #expect(server.bytesSent < 48 << 20)
        #expect(bytes.task.countOfBytesReceived < 8 << 20)
        bytes.task.cancel()
    }

    @Test("Many paused tasks hold up no other task on their connection", arguments: [NginxHTTP2.Listener.plain, .tls])
    func many(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        _ = await session.load(nginx.url(listener, NginxSite.smallPath))
        let tasks = (0..<30).map { _ in session.dataTask(with: nginx.url(listener, NginxSite.mebibytePath)) }
        for task in tasks {
            task.resume()
            try await delegate.wait(for: task, bytes: 1)
            task.suspend()
            await expectNeighboursToLoad(listener, in: session, beside: task)
        }
        for task in tasks.shuffled() {
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == NginxSite.mebibyte)
        }
    }

    @Test(
        "A task that is cancelled while it is paused holds up no other task on its connection",
        arguments: [NginxHTTP2.Listener.plain, .tls]
    )
    func cancelled(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<20 {
            let (bytes, _) = try await session.bytes(from: nginx.url(listener, NginxSite.largePath))
            async let neighbour = session.load(nginx.url(listener, NginxSite.mebibytePath))
            _ = await session.load(nginx.url(listener, NginxSite.smallPath))
            bytes.task.cancel()
            #expect(await neighbour.data == NginxSite.mebibyte)
        }
    }

    @Test("Bodies come to their end, one after the other and at once", arguments: [NginxHTTP2.Listener.plain, .tls])
    func ends(listener: NginxHTTP2.Listener) async throws {
        let session = nginx.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        for round in 0..<60 {
            let tasks = (0..<(round % 5 == 0 ? 8 : 1)).map { _ in
                session.dataTask(with: nginx.url(listener, NginxSite.mebibytePath))
            }
            for task in tasks { task.resume() }
            for task in tasks {
                try await delegate.success(of: task)
                #expect(delegate.body(of: task) == NginxSite.mebibyte)
            }
        }
    }
}
