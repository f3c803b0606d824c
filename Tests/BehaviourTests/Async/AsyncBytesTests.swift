import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("AsyncBytes", .timeLimit(.minutes(1)))
struct AsyncBytesTests {
    @Test("The bytes are the body, with the response known before them", arguments: [0, 1, 300_000])
    func bytes(length: Int) async throws {
        let rig = try Rig { _ in .generated(length: Int64(length), seed: 5) }
        defer { rig.stop() }
        let (bytes, response) = try await rig.session.bytes(from: rig.url("/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(response.expectedContentLength == Int64(length))
        var body = Data()
        for try await byte in bytes { body.append(byte) }
        #expect(body == GeneratedBody.bytes(seed: 5, length: length))
        #expect(bytes.task.state == .completed)
        #expect(bytes.task.countOfBytesReceived == Int64(length))
    }

    @Test("The chunks are the body, none of them empty")
    func chunks() async throws {
        let rig = try Rig { _ in .generated(length: 5_000_000, seed: 6) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(for: URLRequest(url: rig.url("/")))
        var body = Data()
        for try await chunk in bytes.chunks {
            #expect(!chunk.isEmpty)
            body.append(chunk)
        }
        #expect(body == GeneratedBody.bytes(seed: 6, length: 5_000_000))
    }

    @Test("Bytes, scalars, characters and lines that have arrived are read without leaving the caller's actor")
    func onTheActor() async throws {
        let rig = try Rig { _ in .text(String(repeating: "a\n", count: 20_000)) }
        defer { rig.stop() }
        for unit in Reader.Unit.allCases {
            let reader = Reader()
            let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
            #expect(try await reader.count(unit, in: bytes) == (unit == .line ? 20_000 : 40_000))
            // It leaves to wait for more.
            #expect(reader.executor.count.value < 1000, "\(unit)")
        }
    }

    @Test("Bytes come as they arrive")
    func asTheyArrive() async throws {
        let gate = Gate()
        let rig = try Rig { _ in .pieces([.bytes("a"), .waitFor(gate), .bytes("b")]) }
        defer { rig.stop() }
        var iterator = try await rig.session.bytes(from: rig.url("/")).0.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "a"))
        gate.open()
        #expect(try await iterator.next() == UInt8(ascii: "b"))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test("After an error, there is nothing more to read")
    func afterError() async throws {
        let rig = try Rig { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        defer { rig.stop() }
        var bytes = try await rig.session.bytes(from: rig.url("/")).0.makeAsyncIterator()
        var chunks = try await rig.session.bytes(from: rig.url("/")).0.chunks.makeAsyncIterator()
        var lines = try await rig.session.bytes(from: rig.url("/")).0.lines.makeAsyncIterator()
        var characters = try await rig.session.bytes(from: rig.url("/")).0.characters.makeAsyncIterator()
        await #expect(throws: URLError.self) { while try await bytes.next() != nil {} }
        await #expect(throws: URLError.self) { while try await chunks.next() != nil {} }
        await #expect(throws: URLError.self) { while try await lines.next() != nil {} }
        await #expect(throws: URLError.self) { while try await characters.next() != nil {} }
        for _ in 1...2 {
            #expect(try await bytes.next() == nil)
            #expect(try await chunks.next() == nil)
            #expect(try await lines.next() == nil)
            #expect(try await characters.next() == nil)
        }
    }

    @Test("On an actor, bytes that have arrived are read without leaving it")
    @MainActor
    func onActor() async throws {
        let rig = try Rig { _ in .generated(length: 100_000, seed: 8) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await eventually { @Sendable [task = bytes.task] in task.countOfBytesReceived == 100_000 }
        let turns = Watched(0)
        // Gets a turn whenever this actor is left for another.
        let other = Task { @MainActor in
            while !Task.isCancelled {
                turns.update { $0 += 1 }
                await Task.yield()
            }
        }
        var (body, iterator) = (Data(), bytes.makeAsyncIterator())
        while body.count < 100_000, let byte = try await iterator.next() { body.append(byte) }
        // The end may come later, and waiting for it gives turns.
        other.cancel()
        #expect(turns.value < 10_000)
        let end = try await iterator.next()
        #expect(end == nil)
        #expect(body == GeneratedBody.bytes(seed: 8, length: 100_000))
    }

    @Test("A body that breaks off throws, after what has come of it")
    func brokenBody() async throws {
        let rig = try Rig { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        let count = Watched(0)
        let error = await #expect(throws: URLError.self) {
            for try await _ in bytes { count.update { $0 += 1 } }
        }
        #expect(error?.code == .networkConnectionLost)
        #expect(count.value == 1000)
    }

    @Test("Without a response the call itself throws")
    func noResponse() async throws {
        let rig = try Rig { _ in .fault(.beforeAnyByte) }
        defer { rig.stop() }
        let error = await #expect(throws: URLError.self) { _ = try await rig.session.bytes(from: rig.url("/")) }
        #expect(error?.code == .networkConnectionLost)
    }

    @Test("Breaking out of the loop stops the transfer")
    func breaking() async throws {
        let rig = try Rig { _ in .generated(length: 1 << 40) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        for try await _ in bytes { break }
        try await rig.server.waitUntilNoConnections()
        // The connection can be gone a moment before the task shows its end.
        try await eventually { bytes.task.error != nil }
        #expect((bytes.task.error as? URLError)?.code == .cancelled)
    }

    @Test("Breaking out of a loop over chunks or lines stops it too", arguments: [true, false])
    func breakingOther(isLines: Bool) async throws {
        let server = try LoopbackServer { _ in
            .body(length: 1 << 40) { Data(repeating: UInt8(ascii: "\n"), count: $0.count) }
        }
        let words = try LoopbackServer { _ in .raw([.bytes("HTTP/1.1 200 OK\r\n\r\nline\nline\n"), .never]) }
        defer { for server in [server, words] { server.stop() } }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let peer = isLines ? words : server
        let (bytes, _) = try await session.bytes(from: peer.url("/"))
        if isLines {
            for try await line in bytes.lines {
                #expect(line == "line")
                break
            }
        } else {
            for try await _ in bytes.chunks { break }
        }
        try await peer.waitUntilNoConnections()
    }

    @Test("Letting go of the sequence without reading it stops the transfer")
    func dropping() async throws {
        let rig = try Rig { _ in .generated(length: 1 << 40) }
        defer { rig.stop() }
        _ = try await rig.session.bytes(from: rig.url("/"))
        try await rig.server.waitUntilNoConnections()
    }

    @Test("A second reader at the same time is refused, and leaves the transfer to the first")
    func twoReaders() async throws {
        let gate = Gate()
        let rig = try Rig { _ in .chunked([.waitFor(gate), .bytes("hello")]) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        await withTaskGroup(of: Result<Data, any Error>.self) { group in
            for _ in 0..<2 { group.addTask { await Self.rest(of: bytes) } }
            // Nothing comes before one of them has been refused.
            let refused = await group.next()
            let error = #expect(throws: URLError.self) { try refused?.get() }
            #expect(error?.code == .cannotLoadFromNetwork)
            gate.open()
            let read = await group.next()
            #expect((try? read?.get()) == Data("hello".utf8))
        }
    }

    private static func rest(of bytes: URLSession.AsyncBytes) async -> Result<Data, any Error> {
        var body = Data()
        do {
            for try await piece in bytes.chunks { body.append(piece) }
            return .success(body)
        } catch {
            return .failure(error)
        }
    }

    @Test("An iterator that is never used leaves the transfer to another")
    func unusedIterator() async throws {
        let gate = Gate()
        let rig = try Rig { _ in .chunked([.waitFor(gate), .bytes("hello")]) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        _ = bytes.makeAsyncIterator()
        _ = bytes.chunks.makeAsyncIterator()
        gate.open()
        var body = Data()
        for try await byte in bytes { body.append(byte) }
        #expect(body == Data("hello".utf8))
    }

    @Test("Iterators that stop asking hold nothing up for the one that goes on", arguments: [false, true])
    func idleIterators(areDropped: Bool) async throws {
        let rig = try Rig { _ in .generated(length: 30_000_000, seed: 7) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await rig.server.waitUntilBlocked()
        var iterators = (0..<4).map { _ in bytes.makeAsyncIterator() }
        for index in iterators.indices { #expect(try await iterators[index].next() != nil) }
        var chunks = bytes.chunks.makeAsyncIterator()
        var count = try #require(try await chunks.next()).count
        if areDropped { iterators.removeAll() }
        while let chunk = try await chunks.next() { count += chunk.count }
        // Each of the others has taken a piece with it.
        #expect(count < 30_000_000)
        #expect(bytes.task.countOfBytesReceived == 30_000_000)
        withExtendedLifetime(iterators) {}
    }

    @Test("Reading goes on when only the iterator is left")
    func iteratorOnly() async throws {
        let rig = try Rig { _ in .generated(length: 2_000_000, seed: 7) }
        defer { rig.stop() }
        var iterator = try await rig.session.bytes(from: rig.url("/")).0.chunks.makeAsyncIterator()
        var body = Data()
        while let chunk = try await iterator.next() { body.append(chunk) }
        #expect(body == GeneratedBody.bytes(seed: 7, length: 2_000_000))
    }

    @Test("The task of AsyncBytes can be suspended, resumed and cancelled like any other")
    func task() async throws {
        let rig = try Rig { _ in .generated(length: 1 << 40) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        bytes.task.suspend()
        #expect(bytes.task.state == .suspended)
        bytes.task.resume()
        var iterator = bytes.chunks.makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        bytes.task.cancel()
        let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .cancelled)
    }

    @Test("While a task is suspended, the bytes that have arrived can be read")
    func suspended() async throws {
        let gate = Gate()
        let rig = try Rig { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none"), .waitFor(gate), .bytes("two")])
        }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await eventually { bytes.task.countOfBytesReceived == 3 }
        bytes.task.suspend()
        var iterator = bytes.chunks.makeAsyncIterator()
        #expect(try await iterator.next() == Data("one".utf8))
        gate.open()
        bytes.task.resume()
        #expect(try await iterator.next() == Data("two".utf8))
        #expect(try await iterator.next() == nil)
    }

    @Test("A delegate passed to bytes(from:) hears of the task's creation")
    func delegate() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        let own = RecordingDelegate()
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"), delegate: own)
        #expect(own.events(of: bytes.task).first == .created)
        var count = 0
        for try await _ in bytes { count += 1 }
        #expect(count == 5)
    }
}

/// Reads on an executor that counts how often it is returned to.
private actor Reader {
    enum Unit: CaseIterable { case byte, scalar, character, line }

    final class Executor: SerialExecutor {
        let count = Watched(0)
        private let queue = DispatchQueue(label: "AsyncBytesTests")

        func enqueue(_ job: consuming ExecutorJob) {
            count.update { $0 += 1 }
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    nonisolated let executor = Executor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func count(_ unit: Unit, in bytes: URLSession.AsyncBytes) async throws -> Int {
        var count = 0
        switch unit {
        case .byte:
            var iterator = bytes.makeAsyncIterator()
            while try await iterator.next() != nil { count += 1 }
        case .scalar:
            var iterator = bytes.unicodeScalars.makeAsyncIterator()
            while try await iterator.next() != nil { count += 1 }
        case .character:
            var iterator = bytes.characters.makeAsyncIterator()
            while try await iterator.next() != nil { count += 1 }
        case .line:
            var iterator = bytes.lines.makeAsyncIterator()
            while try await iterator.next() != nil { count += 1 }
        }
        return count
    }
}
