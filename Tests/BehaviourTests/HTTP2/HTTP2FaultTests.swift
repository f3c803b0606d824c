import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP/2 servers that don't do what they were asked", .timeLimit(.minutes(1)))
struct HTTP2FaultTests {
    private typealias Server = ScriptedHTTP2Server

    // RFC 9113 §7
    private static let noError: UInt32 = 0
    private static let internalError: UInt32 = 2
    private static let refusedStream: UInt32 = 7
    private static let enhanceYourCalm: UInt32 = 11

    private static func session() -> URLSession {
        URLSession.forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
        }
    }

    private static func load(_ server: Server, _ count: Int, in session: URLSession) async -> [HandlerResult] {
        await withTaskGroup(of: HandlerResult.self) { group in
            for _ in 0..<count { group.addTask { await session.load(server.url()) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("After GOAWAY, new requests go to a new connection", arguments: [noError, enhanceYourCalm])
    func goAway(code: UInt32) async throws {
        let server = try Server { request in
            request.number == 1
                ? Server.text("hello") + [.goAway(lastStream: 1, code: code)] : Server.text("hello")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for _ in 0..<4 { #expect(await session.load(server.url()).text == "hello") }
        // The second can be on its way before GOAWAY comes: then it is made again, and the server may note either first.
        let connections = server.state.value.requests.map(\.connection)
        let new = connections.filter { $0 != 1 }
        #expect(new.count == 3 && Set(new).count == 1 && connections.count <= 5, "\(connections)")
    }

    @Test("Requests that GOAWAY says were not processed are made again on a new connection")
    func unprocessed() async throws {
        let server = try Server { request in
            switch request.number {
            case 1: Server.text("hello")
            case 2, 3: []
            // The fourth of the first connection has the server go away.
            case 4: [.goAway(lastStream: 1, code: Self.noError), .hangUp]
            default: Server.text("hello")
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let results = await Self.load(server, 3, in: session)
        #expect(results.map(\.text) == ["hello", "hello", "hello"], "\(results.map { $0.error?.userInfo as Any })")
        #expect(server.state.value.requests.count == 7)
        #expect(server.state.value.requests[4...].allSatisfy { $0.connection > 1 })
    }

    @Test("Requests that GOAWAY says were not processed share the next connection, too", arguments: [1, 30])
    func unprocessedTogether(otherLimit: Int) async throws {
        let count = 30
        let server = try Server { request in
            switch request.number {
            case 1: Server.text("hello")
            case ...count: []
            case count + 1: [.goAway(lastStream: 1, code: Self.noError), .hangUp]
            default: Server.text("hello")
            }
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.httpMaximumConnectionsPerHost = 1
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.hosts["other.example"].maximumConnections = otherLimit
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let results = await Self.load(server, count, in: session)
        #expect(results.allSatisfy { $0.text == "hello" }, "\(results.map { $0.error?.userInfo as Any })")
        let connections = Set(server.state.value.requests.map(\.connection))
        #expect(connections.count == 2, "\(connections)")
    }

    @Test(
        "A request that GOAWAY says wasn't processed, the first of its connection, is made again",
        arguments: [noError, enhanceYourCalm]
    )
    func unprocessedOnNewConnection(code: UInt32) async throws {
        let server = try Server { request in
            request.connection == 1 ? [.goAway(lastStream: 0, code: code)] : Server.text("hello")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url())
        #expect(result.text == "hello", "\(result.error?.userInfo as Any)")
        #expect(server.state.value.requests.map(\.connection) == [1, 2])
    }

    @Test("All tasks on a connection that is given up for a server's error learn of that at once, though it stays open")
    func brokenProtocol() async throws {
        let server = try Server { request in
            switch request.number {
            case 2, 3: []
            // No field has the index 0: an error of the connection (RFC 7541 §6.1, RFC 9113 §4.3).
            case 4: [.headers(Data([0x80]), ends: true)]
            default: Server.text("hello")
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        for result in await Self.load(server, 3, in: session) {
            #expect(result.text == "hello" || result.error.map { $0.code != .timedOut } == true)
        }
        #expect(server.state.value.connections >= 2)
    }

    /// An error of the connection (RFC 9113 §6.5, §5.1, §8.4).
    private static let brokenFrames = [
        Server.frame(.settings, stream: 1),
        Server.frame(.data, flags: Server.endStream, stream: 99, Data("x".utf8)),
        Server.frame(.pushPromise, flags: Server.endHeaders, stream: 1, Data([0, 0, 0, 2, 0x88])),
    ]

    @Test(
        "A request is made again if its connection is given up for an error that came with a neighbour's answer",
        arguments: [0, 1, 2],
        [false, true]
    )
    func brokenBesideAnAnswer(kind: Int, answersFirst: Bool) async throws {
        let server = try Server { request in
            guard request.connection == 1, request.stream > 1 else { return Server.text("hello") }
            guard request.stream == 5 else { return [] }
            let stream: UInt32 = answersFirst ? 3 : 5
            return [
                .frames([
                    Server.frame(
                        .headers,
                        flags: Server.endHeaders,
                        stream: stream,
                        Server.fields([("content-length", "5")])
                    ),
                    Server.frame(.data, flags: Server.endStream, stream: stream, Data("hello".utf8)),
                    Self.brokenFrames[kind],
                ])
            ]
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let results = await Self.load(server, 2, in: session)
        #expect(results.contains { $0.text == "hello" })
        for result in results {
            #expect(result.text == "hello" || result.error.map { $0.code != .timedOut } == true)
        }
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.connections >= 2)
    }

    /// libcurl reads as soon as it has sent the request. Nothing happens on the connection after that.
    @Test("All tasks learn that their connection is given up even if libcurl finds out while it sends another request")
    func brokenBesideARequest() async throws {
        let (gate, isBroken) = (Gate(), Gate())
        let server = try Server { request in
            guard request.connection == 1, request.stream > 1 else { return Server.text("hello") }
            return request.stream == 3 ? [.waitFor(gate), .frames([Self.brokenFrames[0]]), .open(isBroken)] : []
        }
        defer { server.stop() }
        let others = try (0..<2).map { _ in try LoopbackServer { _ in .text("other") } }
        defer { for other in others { other.stop() } }
        let holds = ["/first", "/second"].map { LoopHold(at: $0) }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.urlCache = nil
            $0.timeoutIntervalForRequest = 20
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.eventLoops = 1
            for hold in holds { hold.install(in: $0) }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        async let held = session.load(server.url())
        try await server.state.wait { $0.requests.count == 2 }
        session.dataTask(with: others[0].url("/first")).resume()
        try await holds[0].isHeldUp.wait()
        // Both start in one round of the loop, before it looks at its sockets.
        session.dataTask(with: others[1].url("/second")).resume()
        let next = session.dataTask(with: server.url())
        next.resume()
        holds[0].end()
        try await holds[1].isHeldUp.wait()
        gate.open()
        try await isBroken.wait()
        holds[1].end()
        let result = await held
        #expect(result.text == "hello" || result.error.map { $0.code != .timedOut } == true)
        try await delegate.success(of: next)
        #expect(server.state.value.connections >= 2)
    }

    @Test("A connection over which nothing comes any more gets no further request after a time-out")
    func frozen() async throws {
        let server = try Server { $0.connection == 1 && $0.stream > 1 ? [] : Server.text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        // Long enough for the request to arrive.
        #expect(await session.load(URLRequest(server.url(), timeout: 2)).error?.code == .timedOut)
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.requests.map { $0.connection == 1 } == [true, true, false])
    }

    @Test("A time-out leaves alone what else is under way on its connection")
    func slow() async throws {
        let gate = Gate()
        let server = try Server { request in
            switch request.number {
            case 2: [.waitFor(gate)] + Server.text("at last")
            case 3: []
            default: Server.text("hello")
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        async let patient = session.load(server.url())
        try await server.state.wait { $0.requests.count == 2 }
        #expect(await session.load(URLRequest(server.url(), timeout: 0.5)).error?.code == .timedOut)
        gate.open()
        #expect(await patient.text == "at last")
        #expect(server.state.value.connections == 1)
    }

    @Test("A body that an error of its connection may have cut short isn't stored")
    func cutShort() async throws {
        // A frame that is larger than allowed is an error of the connection.
        let server = try Server { _ in
            [
                .headers(Server.fields([("cache-control", "max-age=1000")]), ends: false),
                .data(Data("part".utf8), ends: false), .data(Data(count: 20_000), ends: false),
            ]
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
            $0.curl.httpVersion = .http2PriorKnowledge
        }
        defer { session.invalidateAndCancel() }
        for count in 1...3 {
            _ = await session.load(server.url())
            #expect(server.state.value.requests.count == count)
        }
    }

    @Test("A body that the server disowned when it closed the connection isn't stored, even for a suspended task")
    func disowned() async throws {
        let (gate, isClosed) = (Gate(), Gate())
        let server = try Server { request in
            let head = Server.Step.headers(Server.fields([("cache-control", "max-age=1000")]), ends: false)
            let start = [head, .data(Data("part".utf8), ends: false)]
            guard request.number == 2 else { return start + (request.number > 2 ? [.data(Data(), ends: true)] : []) }
            return start + [.waitFor(gate), .goAway(lastStream: 0, code: Self.noError), .hangUp, .open(isClosed)]
        }
        defer { server.stop() }
        let (hold, delegate) = (LoopHold(), RecordingDelegate())
        let session = URLSession.forTest(delegate: delegate) {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.eventLoops = 1
            hold.install(in: $0)
        }
        defer { session.invalidateAndCancel() }
        let other = try LoopbackServer { _ in .text("other") }
        defer { other.stop() }
        let tasks = ["/1", "/2"].map { session.dataTask(with: server.url($0)) }
        for task in tasks {
            task.resume()
            try await delegate.wait(for: task, bytes: 4)
        }
        tasks[1].suspend()
        // So that libcurl sees GOAWAY and the end of the connection at once.
        async let held = session.load(other.url("/hold"))
        try await hold.isHeldUp.wait()
        gate.open()
        try await isClosed.wait()
        hold.end()
        _ = await held
        _ = try await delegate.completion(of: tasks[0])
        tasks[1].resume()
        _ = try await delegate.completion(of: tasks[1])
        for (count, path) in zip(3..., ["/1", "/2"]) {
            #expect(await session.load(server.url(path)).text == "part")
            #expect(server.state.value.requests.count == count)
        }
    }

    @Test("A request that the server has refused to look at is made again")
    func refused() async throws {
        let server = try Server { $0.number == 2 ? [.reset(Self.refusedStream)] : Server.text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await session.load(server.url())
            #expect(result.text == "hello", "\(result.error?.userInfo as Any)")
        }
        #expect(server.state.value.requests.count == 4)
    }

    @Test(
        "A request that the server refuses to look at each time is a lost connection, whatever its method",
        arguments: ["GET", "PUT", "POST"]
    )
    func refusedEachTime(method: String) async throws {
        let server = try Server { _ in [.reset(Self.refusedStream)] }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let body = method == "GET" ? nil : Data("body".utf8)
        let result = await session.load(URLRequest(server.url(), method: method, body: body))
        #expect(result.error?.code == .networkConnectionLost)
        let count = server.state.value.requests.count
        #expect(method == "POST" ? count == 3 : count > 3)
    }

    @Test("A request that the server has given up in the middle fails, once, and its neighbours don't")
    func reset() async throws {
        let gate = Gate()
        let server = try Server { request in
            switch request.number {
            case 1: Server.text("first")
            case 2:
                [.headers(Server.fields(), ends: false), .waitFor(gate), .data(Data("neighbour".utf8), ends: true)]
            case 3: [.reset(Self.internalError)]
            default:
                [
                    .headers(Server.fields(), ends: false), .data(Data("half".utf8), ends: false),
                    .reset(Self.internalError),
                ]
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        async let neighbour = session.load(server.url())
        try await server.state.wait { $0.requests.count == 2 }
        for _ in 0..<2 {
            let error = await session.load(server.url()).error
            #expect(error?.code == .networkConnectionLost)
            #expect(error?.curlText?.contains("INTERNAL_ERROR") == true)
        }
        gate.open()
        #expect(await neighbour.text == "neighbour")
        #expect(server.state.value.requests.map(\.connection) == [1, 1, 1, 1])
    }

    @Test("A POST reaches a server that hangs up on everything three times at most")
    func repeatedPosts() async throws {
        let server = try Server { _ in [.waitForBody, .hangUp] }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let bodies = (10..<30).map { "body \($0)" }
        await withTaskGroup(of: URLError.Code?.self) { group in
            for body in bodies {
                let request = URLRequest(server.url(), method: "POST", body: Data(body.utf8))
                group.addTask { await session.load(request).error?.code }
            }
            for await code in group { #expect(code == .networkConnectionLost) }
        }
        let arrived = server.state.value.bodies.values.map { String(decoding: $0, as: UTF8.self) }
        for body in bodies { #expect(arrived.filter { $0 == body }.count <= 3, "\(body)") }
    }

    @Test("A connection that dies without a word is replaced once")
    func dead() async throws {
        let server = try Server { $0.connection == 1 && $0.stream > 1 ? [.hangUp] : Server.text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let results = await Self.load(server, 5, in: session)
        #expect(
            results.map(\.text) == Array(repeating: "hello", count: 5),
            "\(results.map { $0.error?.userInfo as Any })"
        )
    }

    @Test("A server that hangs up on everything fails every task")
    func alwaysDead() async throws {
        let server = try Server { _ in [.hangUp] }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for result in await Self.load(server, 5, in: session) {
            #expect(result.error?.code == .networkConnectionLost, "\(result.error?.userInfo as Any)")
        }
    }

    @Test("Beyond the server's limit of streams, more connections are opened")
    func streamLimit() async throws {
        let gate = Gate()
        // Those that were on their way before the server could name its limit are refused.
        let server = try Server(maximumStreams: 2) { request in
            request.stream > 3
                ? [.reset(Self.refusedStream)]
                : [.headers(Server.fields(), ends: false), .waitFor(gate), .data(Data("hello".utf8), ends: true)]
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        async let results = Self.load(server, 6, in: session)
        try await server.state.wait { $0.requests.count { $0.stream <= 3 } == 6 }
        gate.open()
        #expect(await results.map(\.text) == Array(repeating: "hello", count: 6))
        #expect(server.state.value.connections >= 3)
    }

    @Test("The session's own limit of connections is kept too")
    func ownStreamLimit() async throws {
        let gate = Gate()
        let server = try Server { _ in
            [.headers(Server.fields(), ends: false), .waitFor(gate), .data(Data("hello".utf8), ends: true)]
        }
        defer { server.stop() }
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.maximumStreamsPerConnection = 3
            $0.httpMaximumConnectionsPerHost = 2
        }
        defer { session.invalidateAndCancel() }
        async let results = Self.load(server, 10, in: session)
        try await server.state.wait { $0.requests.count == 6 }
        // The last ones may not have begun yet.
        try await eventually { await session.connections.map(\.waiting) == [4] }
        gate.open()
        #expect(await results.map(\.text) == Array(repeating: "hello", count: 10))
        let first = Dictionary(grouping: server.state.value.requests.prefix(6), by: \.connection)
        #expect(first.values.allSatisfy { $0.count <= 3 })
    }

    @Test("Requests that are under way when GOAWAY comes are answered in full", arguments: [noError, enhanceYourCalm])
    func underway(code: UInt32) async throws {
        let gate = Gate()
        let server = try Server { request in
            switch request.number {
            case 1: Server.text("first")
            case 2...5:
                [.headers(Server.fields(), ends: false), .waitFor(gate), .data(Data("under way".utf8), ends: true)]
            case 6: [.goAway(lastStream: request.stream, code: code)] + Server.text("last")
            default: Server.text("new")
            }
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "first")
        async let results = Self.load(server, 4, in: session)
        try await server.state.wait { $0.requests.count == 5 }
        #expect(await session.load(server.url()).text == "last")
        #expect(await session.load(server.url()).text == "new")
        gate.open()
        #expect(await results.map(\.text) == Array(repeating: "under way", count: 4))
        #expect(server.state.value.requests.map { $0.connection == 1 } == [true, true, true, true, true, true, false])
    }

    @Test("Trailers belong neither to the head nor to the body")
    func trailers() async throws {
        let server = try Server { _ in
            [
                .headers(Server.fields([("x-head", "1")]), ends: false), .data(Data("hello".utf8), ends: false),
                .headers(Server.trailers([("x-trailer", "1")]), ends: true),
            ]
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let result = await session.load(server.url())
            #expect(result.text == "hello")
            #expect(result.response?.value(forHTTPHeaderField: "X-Head") == "1")
            #expect(result.response?.value(forHTTPHeaderField: "X-Trailer") == nil)
        }
    }

    @Test("A head without end fails its task alone")
    func headerList() async throws {
        let many = (0..<100).map { (name: "x-\($0)", value: String(repeating: "a", count: 8000)) }
        let isOverdoing = Watched(false)
        let server = try Server { _ in
            isOverdoing.value ? [.headers(Server.fields(many), ends: true)] : Server.text("hello")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        isOverdoing.update { $0 = true }
        #expect(await session.load(server.url()).error != nil)
        isOverdoing.update { $0 = false }
        #expect(await session.load(server.url()).text == "hello")
    }

    // libcurl 7.88 loses the beginning of a head that it has read for another transfer, unless its buffer has room for all of it.
    @Test("Large heads arrive whole, however many share the connection", arguments: [4, 6, 14])
    func largeHeads(fields: Int) async throws {
        let large = (0..<fields).map { (name: "x-\($0)", value: String(repeating: "a", count: 8000)) }
        let server = try Server { request in
            let fields = request.number == 1 ? Server.fields() : Server.fields(large)
            return [.headers(fields, ends: false), .data(Data("hello".utf8), ends: true)]
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        for _ in 0..<5 {
            for result in await Self.load(server, 8, in: session) {
                #expect(result.text == "hello", "\(result.error?.localizedDescription ?? "")")
                #expect(result.response?.value(forHTTPHeaderField: "x-\(fields - 1)")?.count == 8000)
            }
        }
        #expect(server.state.value.requests.count == 41, "none was sent again")
    }

    @Test("After a head that is too large, requests go to a new connection")
    func afterLargeHead() async throws {
        let large = (0..<20).map { (name: "x-\($0)", value: String(repeating: "a", count: 8000)) }
        let isOverdoing = Watched(false)
        let server = try Server { _ in
            isOverdoing.value ? [.headers(Server.fields(large), ends: true)] : Server.text("hello")
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        for _ in 0..<10 {
            #expect(await session.load(server.url()).text == "hello")
            isOverdoing.update { $0 = true }
            // The library below libcurl may break off before libcurl sees how large the head is.
            let code = await session.load(server.url()).error?.code
            #expect(code == .badServerResponse || code == .networkConnectionLost)
            isOverdoing.update { $0 = false }
        }
    }

    // The server doesn't compress them.
    @Test("A response's field arrives over HTTP/2 if it takes up to 64 KiB there", arguments: [65_000, 66_000])
    func largeField(length: Int) async throws {
        let value = String(repeating: "a", count: length)
        let server = try Server { request in
            guard request.number == 1 else { return Server.text("hello") }
            let fields = Server.fields([(name: "x-large", value: value)])
            return [.headers(fields, ends: false), .data(Data("large".utf8), ends: true)]
        }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url())
        if length <= 64 * 1024 {
            #expect(result.text == "large")
            #expect(result.response?.value(forHTTPHeaderField: "x-large") == value)
        } else {
            #expect(result.error?.code == .networkConnectionLost)
        }
        #expect(await session.load(server.url()).text == "hello")
    }

    @Test("A request's own head beyond what HTTP/2 can carry fails its task alone")
    func requestHead() async throws {
        let server = try Server { _ in Server.text("hello") }
        defer { server.stop() }
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        let large = URLRequest(server.url(), headers: ["X-Large": String(repeating: "a", count: 65_000)])
        #expect(await session.load(large).error?.code == .dataLengthExceedsMaximum)
        let almost = URLRequest(server.url(), headers: ["X-Large": String(repeating: "a", count: 60_000)])
        #expect(await session.load(almost).text == "hello")
    }
}
