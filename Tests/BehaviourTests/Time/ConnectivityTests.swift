import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Waiting for connectivity", .timeLimit(.minutes(1)))
struct ConnectivityTests {
    /// A port where no server listens, until one does.
    private final class Host: Sendable {
        let port: Int
        let server = Watched<LoopbackServer?>(nil)

        init() throws {
            port = try LoopbackServer.unusedPort()
        }

        func url(_ path: String) throws -> URL {
            try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
        }

        /// Begins to listen.
        func comeUp() {
            let server = try? LoopbackServer(port: port) { .echoBody($0) }
            self.server.update { $0 = server }
        }

        func stop() {
            server.value?.stop()
        }
    }

    private static func session(
        _ delegate: TimelineDelegate?,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) {
            $0.waitsForConnectivity = true
            configure($0)
        }
    }

    @Test("A refused task waits, tells its delegate, and goes on when the network changes")
    func refused() async throws {
        let host = try Host()
        defer { host.stop() }
        let delegate = TimelineDelegate(onWaiting: host.comeUp)
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try host.url("/"))
        task.resume()
        try await delegate.wait(for: "waiting")
        session.retryUnreachableHosts()
        let story = try await delegate.completeStory()
        #expect(story == ["created", "waiting", "response", "metrics", "completed"])
        #expect(task.error == nil)
        let metrics = try await delegate.metrics()
        #expect(metrics.transactionMetrics.count == 1, "an attempt is no transaction")
    }

    @Test("A task waits for an FTP server that refuses as well")
    func ftp() async throws {
        let port = try LoopbackServer.unusedPort()
        let server = Watched<ScriptedFTPServer?>(nil)
        defer { server.value?.stop() }
        let delegate = TimelineDelegate(onWaiting: {
            let started = try? ScriptedFTPServer(Data("content".utf8), port: port)
            server.update { $0 = started }
        })
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: try #require(URL(string: "ftp://127.0.0.1:\(port)/file"))).resume()
        try await delegate.wait(for: "waiting")
        session.retryUnreachableHosts()
        let story = try await delegate.completeStory()
        #expect(story == ["created", "waiting", "response", "data", "metrics", "completed"])
        #expect(delegate.record.value.error == nil)
        #expect(try await delegate.metrics().transactionMetrics.count == 1, "an attempt is no transaction")
    }

    @Test("A task waits for an FTP server that doesn't answer the attempt to connect, or says nothing")
    func deafFTP() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        let waiting = Watched(0)
        let delegate = TimelineDelegate(onWaiting: { waiting.update { $0 += 1 } })
        let session = Self.session(delegate) { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ftp://127.0.0.1:\(deaf.port)/file"))
        // The kernel accepts one or two of them for the server.
        for _ in 0..<4 { session.dataTask(with: url).resume() }
        try await waiting.wait { $0 == 4 }
    }

    @Test("A waiting task tries again by itself if the system says nothing")
    func backoff() async throws {
        let host = try Host()
        defer { host.stop() }
        let delegate = TimelineDelegate(onWaiting: host.comeUp)
        let session = Self.session(nil)
        defer { session.invalidateAndCancel() }
        let (_, response) = try await session.data(from: host.url("/"), delegate: delegate)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(delegate.story == ["created", "waiting", "metrics"])
    }

    @Test("A handler's task waits as well, with a delegate or without", arguments: [true, false])
    func handler(isWatched: Bool) async throws {
        let host = try Host()
        defer { host.stop() }
        let delegate = TimelineDelegate(onWaiting: host.comeUp)
        let session = Self.session(isWatched ? delegate : nil)
        defer { session.invalidateAndCancel() }
        if !isWatched { host.comeUp() }
        let result = await session.load(URLRequest(try host.url("/"), method: "PUT", body: Data("hello".utf8)))
        #expect(result.text == "hello")
        #expect(delegate.story == (isWatched ? ["created", "waiting", "sent", "metrics"] : []))
    }

    @Test("A task waits for a host whose name can't be looked up, and can be cancelled while it waits")
    func unresolved() async throws {
        let delegate = TimelineDelegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://nobody.invalid/")))
        task.resume()
        try await delegate.wait(for: "waiting")
        #expect(task.state == .running)
        task.cancel()
        #expect(try await delegate.completeStory() == ["created", "waiting", "metrics", "completed"])
        #expect(delegate.record.value.error?.code == .cancelled)
    }

    @Test("The resource time-out ends the waiting, with what the task waited for as its cause; it is told once")
    func resourceTimeout() async throws {
        let host = try Host()
        let count = Watched(0)
        let delegate = TimelineDelegate(onWaiting: { count.update { $0 += 1 } })
        // Amid the third wait: attempts are made within a second and a half, and not again before two and a half.
        let session = Self.session(delegate) { $0.timeoutIntervalForResource = 2 }
        defer { session.invalidateAndCancel() }
        session.dataTask(with: try host.url("/")).resume()
        try await delegate.wait(for: "waiting")
        session.retryUnreachableHosts()
        #expect(try await delegate.completeStory() == ["created", "waiting", "metrics", "completed"])
        #expect(count.value == 1)
        let error = try #require(delegate.record.value.error)
        #expect(error.code == .timedOut)
        let cause = error.userInfo[NSUnderlyingErrorKey] as? URLError
        #expect(cause?.code == .cannotConnectToHost)
        let metrics = try await delegate.metrics()
        #expect(metrics.transactionMetrics.count == 1, "the last attempt, with which the task ends")
    }

    @Test("The resource time-out's cause is why the last attempt failed even if another one is under way")
    func resourceTimeoutAmidAttempt() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        // The second attempt begins after one and a half seconds at most, and takes as long as the first.
        let session = Self.session(nil) {
            $0.timeoutIntervalForRequest = 1
            $0.timeoutIntervalForResource = 2
        }
        defer { session.invalidateAndCancel() }
        // The kernel may accept it for the server, but an FTP server has to say something.
        let result = await session.load(try #require(URL(string: "ftp://127.0.0.1:\(deaf.port)/file")))
        let error = try #require(result.error)
        #expect(error.code == .timedOut && error.localizedDescription.contains("timeoutIntervalForResource"))
        let phase = error.userInfo[CurlErrorKey.phase] as? String
        #expect(phase == "connecting", "amid an attempt")
        #expect((error.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .timedOut)
    }

    @Test("The resource time-out has no cause while a delegate is asked about a host that was reached at last")
    func resourceTimeoutAmidQuestion() async throws {
        let port = try LoopbackServer.unusedPort()
        // Its files take time to make.
        _ = try TLSNginx.shared()
        let (silent, timeline) = (TLSTrustChallengeTests.SessionLevel { _, _ in }, TimelineDelegate())
        let session = URLSession.forTest(delegate: silent) {
            $0.waitsForConnectivity = true
            $0.timeoutIntervalForResource = 4
        }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "https://127.0.0.1:\(port)/")))
        task.delegate = timeline
        task.resume()
        try await timeline.wait(for: "waiting")
        let server = try await TalkingTLSServer(port: port)
        defer { server.stop() }
        session.retryUnreachableHosts()
        #expect(try await timeline.completeStory().last == "completed")
        #expect(silent.asked.value.count == 1)
        let error = try #require(timeline.record.value.error)
        #expect(error.code == .timedOut && error.userInfo[NSUnderlyingErrorKey] == nil)
    }

    @Test("The idle time-out doesn't run while a task waits, and an attempt's time-out isn't the task's")
    func idleTimeout() async throws {
        let deaf = try LoopbackServer.deaf()
        defer { deaf.stop() }
        let session = Self.session(nil) {
            $0.timeoutIntervalForRequest = 0.2
            $0.timeoutIntervalForResource = 1.5
        }
        defer { session.invalidateAndCancel() }
        let start = ContinuousClock.now
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<4 { group.addTask { await session.load(deaf.url("/")) } }
            for await result in group { #expect(result.error?.code == .timedOut) }
        }
        // Those that the kernel has accepted for the server fail for want of an answer.
        #expect(start.duration(to: .now) >= .seconds(1.5))
    }

    @Test("A waiting task that is suspended goes on when it is resumed, and not before")
    func suspended() async throws {
        let host = try Host()
        defer { host.stop() }
        let delegate = TimelineDelegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try host.url("/"))
        task.resume()
        try await delegate.wait(for: "waiting")
        task.suspend()
        host.comeUp()
        session.retryUnreachableHosts()
        // Another task goes the same way behind it, and is answered: so the first had its chance.
        let other = TimelineDelegate()
        _ = try await session.data(from: host.url("/other"), delegate: other)
        #expect(host.server.value?.requests.map(\.path) == ["/other"])
        task.resume()
        #expect(try await delegate.completeStory().last == "completed")
        #expect(host.server.value?.requests.map(\.path) == ["/other", "/"])
        #expect(task.error == nil)
    }

    @Test("A body in a stream, of which nothing was read, goes with the next try")
    func stream() async throws {
        let host = try Host()
        defer { host.stop() }
        let delegate = TimelineDelegate(onWaiting: host.comeUp, bodyStream: { InputStream(data: Data("again".utf8)) })
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(try host.url("/"), method: "PUT")
        request.httpBodyStream = InputStream(data: Data("first".utf8))
        let task = session.uploadTask(withStreamedRequest: request)
        task.resume()
        let story = try await delegate.completeStory()
        #expect(
            story == ["created", "body stream", "waiting", "sent", "response", "data", "metrics", "completed"]
        )
        #expect(host.server.value?.requests.first?.body == Data("again".utf8))
    }

    @Test("A connection that breaks off later fails the task as usual")
    func brokenLater() async throws {
        let server = try LoopbackServer { _ in .fault(.beforeAnyByte) }
        defer { server.stop() }
        let delegate = TimelineDelegate()
        let session = Self.session(delegate)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/")).resume()
        #expect(try await delegate.completeStory() == ["created", "metrics", "completed"])
        #expect(delegate.record.value.error?.code == .networkConnectionLost)
    }

    @Test("By default no task waits for connectivity")
    func byDefault() async throws {
        let host = try Host()
        let delegate = TimelineDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(!session.configuration.waitsForConnectivity)
        session.dataTask(with: try host.url("/")).resume()
        #expect(try await delegate.completeStory() == ["created", "metrics", "completed"])
        #expect(delegate.record.value.error?.code == .cannotConnectToHost)
    }

    @Test("Five hundred tasks wait together, and all go on")
    func many() async throws {
        let host = try Host()
        defer { host.stop() }
        let session = Self.session(nil)
        defer { session.invalidateAndCancel() }
        let waiting = Watched(0)
        let url = try host.url("/")
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    let delegate = TimelineDelegate(onWaiting: { waiting.update { $0 += 1 } })
                    let (_, response) = try await session.data(from: url, delegate: delegate)
                    return (response as? HTTPURLResponse)?.statusCode ?? 0
                }
            }
            try await waiting.wait { $0 == 500 }
            host.comeUp()
            session.retryUnreachableHosts()
            for try await status in group { #expect(status == 200) }
        }
    }
}
