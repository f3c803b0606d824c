import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Back-pressure", .timeLimit(.minutes(1)))
struct BackPressureTests {
    /// Far more than the kernel's socket buffers and ours can hold.
    private static let length: Int64 = 64 << 20
    /// What may have been received for a reader that has taken nothing: the documented limit, and 101 receive buffers:
    /// so often libcurl reads before it returns to the loop.
    private static let limit = Int64(URLSession.AsyncBytes.maximumWaitingBytes + 101 * 16 * 1024)

    @Test("A delegate that doesn't return holds the server up, and then gets everything intact")
    func slowDelegate() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate(onEvent: { _, event in
            if case .data = event { gate.waitBlocking() }
        })
        let rig = try Rig(delegate: delegate) {
            $0.path == "/small" ? .text("") : .generated(length: Self.length, seed: 1)
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await rig.server.waitUntilBlocked()
        _ = try await rig.session.data(from: rig.url("/small"))
        try await rig.server.waitUntilBlocked()
        #expect(task.countOfBytesReceived <= Self.limit)
        #expect(rig.server.bytesSent < Self.length)
        gate.open()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 1, length: Int(Self.length)))
    }

    @Test("A reader that doesn't read holds the server up, and then gets everything intact")
    func slowReader() async throws {
        let rig = try Rig { $0.path == "/small" ? .text("") : .generated(length: Self.length, seed: 2) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await rig.server.waitUntilBlocked()
        _ = try await rig.session.data(from: rig.url("/small"))
        try await rig.server.waitUntilBlocked()
        #expect(bytes.task.countOfBytesReceived <= Self.limit)
        #expect(rig.server.bytesSent < Self.length)
        var body = Data()
        for try await chunk in bytes.chunks { body.append(chunk) }
        #expect(body == GeneratedBody.bytes(seed: 2, length: Int(Self.length)))
    }

    @Test("A held-up task doesn't hold up others of its session")
    func independence() async throws {
        let rig = try Rig { request in
            request.path == "/large" ? .generated(length: Self.length) : .text("hello")
        }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/large"))
        try await rig.server.waitUntilBlocked()
        for _ in 0..<10 {
            let (data, _) = try await rig.session.data(from: rig.url("/small"))
            #expect(data == Data("hello".utf8))
        }
        bytes.task.cancel()
    }

    @Test("A held-up task isn't timed out: it's not the server's fault")
    func noTimeout() async throws {
        let rig = try Rig { request in
            request.path == "/never" ? .never : .generated(length: Self.length, seed: 3)
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await rig.server.waitUntilBlocked()
        let clock = await rig.session.load(URLRequest(rig.url("/never"), timeout: 4))
        #expect(clock.error?.code == .timedOut)
        #expect(bytes.task.state == .running)
        var count = 0
        for try await chunk in bytes.chunks { count += chunk.count }
        #expect(count == Self.length)
    }

    @Test("Cancelling a held-up task ends it, and frees the server")
    func cancelling() async throws {
        let rig = try Rig { _ in .generated(length: 1 << 40) }
        defer { rig.stop() }
        let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
        try await rig.server.waitUntilBlocked()
        bytes.task.cancel()
        try await rig.server.waitUntilNoConnections()
        var iterator = bytes.makeAsyncIterator()
        // The connection can be gone a moment before the reader is told; what has arrived until then it may still read.
        let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .cancelled)
    }

    @Test("A large body read slowly needs no more memory than a small one", arguments: [true, false])
    func flatMemory(isDelegate: Bool) async {
        await #expect(processExitsWith: .success) { [isDelegate] in
            let length: Int64 = 300 << 20
            let server = try LoopbackServer { .generated(length: $0.path == "/large" ? length : 4 << 20) }
            let received = Watched<Int64>(0)
            let delegate = RecordingDelegate(
                keepsBodies: false,
                onEvent: { _, event in
                    guard case .data(let count) = event else { return }
                    received.update { $0 += Int64(count) }
                    // Slower than the server, which so has to wait.
                    usleep(200)
                }
            )
            let session = URLSession.forTest(delegate: delegate)
            func load(_ path: String) async throws {
                if isDelegate {
                    let task = session.dataTask(with: server.url(path))
                    task.resume()
                    try await delegate.success(of: task)
                } else {
                    let (bytes, _) = try await session.bytes(from: server.url(path))
                    if path == "/large" { try await server.waitUntilBlocked() }
                    for try await chunk in bytes.chunks { received.update { $0 += Int64(chunk.count) } }
                }
            }
            try await load("/small")
            let before = ProcessUsage().resident
            try ProcessUsage.resetPeak()
            received.update { $0 = 0 }
            try await load("/large")
            #expect(received.value == length)
            #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 24 << 20))
            server.stop()
        }
    }
}
