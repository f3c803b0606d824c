import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploads over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2UploadTests {
    private typealias Server = ScriptedHTTP2Server

    private static let content = GeneratedBody.bytes(seed: 31, length: 300_000)
    // RFC 9113 §7
    private static let refusedStream: UInt32 = 7
    private static let cancel: UInt32 = 8

    private static func request(_ url: URL, method: String = "POST", streams: Bool = false) -> URLRequest {
        var request = URLRequest(url, method: method, body: streams ? nil : content)
        if streams { request.httpBodyStream = InputStream(data: content) }
        return request
    }

    private static func answered(_ text: String) -> [Server.Step] {
        [.waitForBody] + Server.text(text)
    }

    @Test("The server's window sets the pace, however small it is", arguments: [false, true])
    func smallWindow(streams: Bool) async throws {
        let server = try Server(window: 700) { _ in Self.answered("thanks") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        for number in 1...3 {
            let result = await session.load(Self.request(server.url(), streams: streams))
            #expect(result.text == "thanks", "\(result.error?.userInfo as Any)")
            #expect(server.state.value.bodies[number] == Self.content)
        }
        #expect(server.state.value.connections == 1)
    }

    @Test(
        "An upload that the server lets wait holds up no other request, and goes on when it may",
        arguments: [false, true]
    )
    func closedWindow(streams: Bool) async throws {
        let gate = Gate()
        let server = try Server(window: 0) { request in
            guard request.number == 2 else { return Server.text("hello") }
            // libcurl needs a window to say that a stream is over.
            return [.waitFor(gate), .grant(UInt32(Self.content.count + 1))] + Self.answered("thanks")
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        async let upload = session.load(Self.request(server.url(), streams: streams))
        try await server.state.wait { $0.requests.count == 2 }
        for _ in 0..<10 { #expect(await session.load(server.url()).text == "hello") }
        #expect(server.state.value.bodies[2] == nil)
        gate.open()
        #expect(await upload.text == "thanks")
        #expect(server.state.value.bodies[2] == Self.content)
        #expect(server.state.value.connections == 1)
    }

    // libcurl 7.88 asks again and again for what follows while the last bytes, fewer than it can send at once, wait for the window.
    @Test(
        "An upload whose last bytes find no window waits for its time-out, and no longer",
        arguments: [65_536, 66_000, 70_000]
    )
    func timeOut(length: Int) async throws {
        let gate = Gate()
        let server = try Server(window: 65_535) { _ in [.waitFor(gate)] }
        defer { server.stop() }
        defer { gate.open() }
        let session = try NginxHTTP2.shared().session {
            $0.timeoutIntervalForRequest = 1
            $0.timeoutIntervalForResource = 30
        }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(server.url(), method: "PUT")
        request.httpBodyStream = InputStream(data: Self.content.prefix(length))
        let error = await session.load(request).error
        #expect(error?.code == .timedOut)
        #expect(error?.localizedDescription.contains("timeoutIntervalForResource") == false)
    }

    @Test("An upload that is answered while it is being sent ends when it has been sent", arguments: [false, true])
    func answeredAtOnce(streams: Bool) async throws {
        let server = try Server(window: 1 << 20) { _ in Server.text("thanks") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "thanks")
        for _ in 1...10 {
            await withTaskGroup(of: HandlerResult.self) { group in
                for _ in 1...10 {
                    group.addTask { await session.load(Self.request(server.url(), streams: streams)) }
                }
                for await result in group {
                    #expect(result.text == "thanks", "\(result.error?.userInfo as Any)")
                }
            }
        }
        #expect(server.state.value.connections == 1)
    }

    @Test(
        "An upload that is answered in full at once can still be sent as the server's small window allows",
        arguments: [false, true]
    )
    func answeredInFull(streams: Bool) async throws {
        let server = try Server(window: 700) { _ in
            [.headers(Server.fields([("content-length", "6")]), ends: false), .data(Data("thanks".utf8), ends: true)]
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "thanks")
        for number in 2...4 {
            let result = await session.load(Self.request(server.url(), streams: streams))
            #expect(result.text == "thanks", "\(result.error?.userInfo as Any)")
            #expect(result.response?.expectedContentLength == 6)
            #expect(server.state.value.requests.count == number)
        }
        #expect(server.state.value.connections == 1)
    }

    @Test("An upload that is answered before it is sent fails if the connection ends amid the answer")
    func answeredInPart() async throws {
        let server = try Server(window: 700) { request in
            if request.number == 1 { return Server.text("thanks") }
            return [
                .headers(Server.fields([("content-length", "60")]), ends: false),
                .data(Data("thanks".utf8), ends: false),
                // An error of the connection (RFC 9113 §6.5).
                .frames([Server.frame(.settings, stream: 1)]),
            ]
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "thanks")
        #expect(await session.load(Self.request(server.url())).error?.code == .networkConnectionLost)
    }

    @Test("Many uploads at once share the connection", arguments: [NginxHTTP2.Listener.plain, .tls])
    func many(listener: NginxHTTP2.Listener) async throws {
        let server = try LoopbackServer { .text("\($0.body == Self.content)") }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        let url = try NginxHTTP2.shared().url(listener, "/proxy/\(server.port)/")
        await withTaskGroup(of: HandlerResult.self) { group in
            for number in 0..<40 { group.addTask { await session.load(Self.request(url, streams: number % 2 == 0)) } }
            for await result in group {
                #expect(result.text == "true", "\(result.error?.userInfo as Any)")
                #expect(result.response?.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0")
            }
        }
        #expect(await session.connections.map(\.open) == [1])
    }

    @Test("A suspended upload stops, and goes on when it is resumed", arguments: [NginxHTTP2.Listener.plain, .tls])
    func suspended(listener: NginxHTTP2.Listener) async throws {
        let content = GeneratedBody.bytes(seed: 32, length: 24 << 20)
        let server = try LoopbackServer {
            $0.path == "/small" ? .text("hello") : .text("\($0.bodyLength == content.count)")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = try NginxHTTP2.shared().url(listener, "/proxy/\(server.port)/")
        let small = try NginxHTTP2.shared().url(listener, "/proxy/\(server.port)/small")
        for _ in 0..<3 {
            let task = session.uploadTask(with: URLRequest(url, method: "POST"), from: content)
            task.resume()
            try await delegate.wait(for: task) { $0.name == "sent" }
            task.suspend()
            for _ in 0..<3 { #expect(await session.load(small).text == "hello") }
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("true".utf8))
        }
    }

    @Test("An upload that the server breaks off fails, and its neighbours don't")
    func brokenOff() async throws {
        let gate = Gate()
        let server = try Server(window: 1000) { request in
            switch request.number {
            case 1: Server.text("first")
            case 2: [.waitFor(gate)] + Server.text("neighbour")
            default: [.reset(Self.cancel)]
            }
        }
        defer { server.stop() }
        let session = try NginxHTTP2.shared().session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        async let neighbour = session.load(server.url())
        try await server.state.wait { $0.requests.count == 2 }
        let error = await session.load(Self.request(server.url())).error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.curlText?.contains("CANCEL") == true, "\(error?.curlText ?? "")")
        gate.open()
        #expect(await neighbour.text == "neighbour")
        #expect(server.state.value.requests.map(\.connection) == [1, 1, 1])
    }

    @Test("An upload that has nothing to send learns that its connection is given up for a server's error")
    func brokenWhileStarved() async throws {
        let gate = Gate()
        let server = try Server { request in
            switch request.number {
            case 1: Server.text("first")
            // An error of the connection (RFC 9113 §6.5).
            case 2: [.waitFor(gate), .frames([Server.frame(.settings, stream: request.stream)])]
            default: Self.answered("thanks")
            }
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let blocking = try BlockingStream(in: directory)
        let source = StreamSource { $0 == 1 ? blocking.stream : InputStream(data: Self.content) }
        let session = try NginxHTTP2.shared().session(delegate: source)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        try blocking.write(Data(count: 1000))
        session.uploadTask(withStreamedRequest: URLRequest(server.url(), method: "POST")).resume()
        try await server.state.wait { $0.bodies[2]?.count == 1000 }
        gate.open()
        let error = try await source.completion()
        try blocking.finish()
        // With newer versions of libcurl the error doesn't say that the request may be sent again.
        #expect(error == nil || error?.code == .networkConnectionLost, "\(error?.userInfo as Any)")
        if error == nil { #expect(server.state.value.bodies[3] == Self.content) }
    }

    @Test(
        "An upload that is refused before any of it was sent is sent again from its beginning",
        arguments: [false, true]
    )
    func refused(streams: Bool) async throws {
        let gate = Gate()
        let server = try Server(window: 0) { request in
            switch request.number {
            case 1: Server.text("first")
            case 2: [.waitFor(gate), .reset(Self.refusedStream)]
            // libcurl needs a window to say that a stream is over.
            default: [.grant(UInt32(Self.content.count + 1))] + Self.answered("thanks")
            }
        }
        defer { server.stop() }
        let delegate = TimelineDelegate(bodyStream: { InputStream(data: Self.content) })
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        let request = URLRequest(server.url(), method: "POST")
        let task =
            streams
            ? session.uploadTask(withStreamedRequest: request) : session.uploadTask(with: request, from: Self.content)
        task.resume()
        // libcurl has read some of it.
        try await delegate.wait(for: task) { $0.name == "sent" }
        gate.open()
        try await delegate.success(of: task)
        #expect(server.state.value.bodies[2] == nil)
        #expect(server.state.value.bodies[3] == Self.content)
    }

    @Test("A HEAD with a body gets its head, and nothing else")
    func head() async throws {
        let server = try Server { request in
            request.number == 1
                ? Server.text("first") : [.waitForBody, .headers(Server.fields([("content-length", "7")]), ends: true)]
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        for number in 2...4 {
            let task = session.dataTask(with: Self.request(server.url(), method: "HEAD"))
            task.resume()
            try await delegate.success(of: task)
            #expect((task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Length") == "7")
            #expect(delegate.body(of: task) == nil)
            #expect(server.state.value.bodies[number] == Self.content)
        }
        #expect(server.state.value.connections == 1)
    }
}
