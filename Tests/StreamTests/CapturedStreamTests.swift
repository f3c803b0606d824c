import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Captured streams", .timeLimit(.minutes(1)))
struct CapturedStreamTests {
    /// Calls `body` on a thread of its own, which may block.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    private struct Streams: @unchecked Sendable {
        // @unchecked: one thread has them at a time.
        let input: InputStream
        let output: OutputStream

        /// Writes the text, and reads as many bytes.
        func echo(_ text: String) -> String? {
            let bytes = Array(text.utf8)
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBufferPointer { buffer in
                    buffer.baseAddress.map { output.write($0, maxLength: buffer.count) } ?? -1
                }
                guard count > 0 else { return nil }
                written += count
            }
            return read(bytes.count)
        }

        func read(_ count: Int) -> String? {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while bytes.count < count {
                let length = input.read(&buffer, maxLength: min(buffer.count, count - bytes.count))
                guard length > 0 else { return nil }
                bytes += buffer[..<length]
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func streams(of task: URLSessionStreamTask, _ recorder: StreamRecorder) async throws -> Streams {
        task.captureStreams()
        try await recorder.wait(for: .captured)
        let (input, output) = try #require(recorder.record.value.streams)
        return Streams(input: input, output: output)
    }

    @Test("Captured streams carry bytes with blocking calls, even when the session is gone")
    func blocking() async throws {
        let server = try LoopbackServer.echo()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.write("before")
        #expect(try await task.text(3) == "bef")
        let streams = try await streams(of: task, recorder)
        await #expect(throws: URLError.self) { try await task.text(1) }
        await #expect(throws: URLError.self) { try await task.write("late") }
        session.invalidateAndCancel()
        let texts = await onThread { () -> [String?] in
            streams.input.open()
            streams.output.open()
            defer {
                streams.input.close()
                streams.output.close()
            }
            return [streams.read(3), streams.echo("hello"), streams.echo(String(repeating: "x", count: 100_000))]
        }
        #expect(texts == ["ore", "hello", String(repeating: "x", count: 100_000)])
        try await server.waitUntilNoConnections()
        #expect(recorder.events == [.captured])
    }

    @Test("Captured streams have what the server said before the task was read from")
    func early() async throws {
        // The words come with the proxy's answer: they are there as soon as the connection is.
        let proxy = try LoopbackServer { _ in
            { event in
                guard case .received = event else { return [] }
                return [.bytes("HTTP/1.1 200 Connected\r\n\r\n220 ready\n")]
            }
        }
        defer { proxy.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder) {
            $0.curl.proxy = .server(CurlOptions.ProxyServer(.http, host: "127.0.0.1", port: proxy.port))
        }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "mail.test", port: 25)
        task.resume()
        let streams = try await streams(of: task, recorder)
        let text = await onThread { () -> String? in
            streams.input.open()
            defer { streams.input.close() }
            return streams.read(10)
        }
        #expect(text == "220 ready\n")
    }

    @Test("A captured stream says, without waiting, whether there are bytes to read and room to write")
    func availability() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let streams = try await streams(of: rig.task, rig.recorder)
        streams.input.open()
        streams.output.open()
        #expect(!streams.input.hasBytesAvailable && streams.output.hasSpaceAvailable)
        #expect(await onThread { streams.echo("hello") } == "hello")
        #expect(!streams.input.hasBytesAvailable)
        #expect(await onThread { streams.output.write([1], maxLength: 1) } == 1)
        try await eventually { streams.input.hasBytesAvailable }
    }

    @Test("Closing captured streams wakes the threads that wait in them")
    func wakes() async throws {
        let server = try SilentServer()
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        let streams = try await streams(of: task, recorder)
        streams.input.open()
        streams.output.open()
        async let read = onThread { () -> Int in
            var byte: UInt8 = 0
            return streams.input.read(&byte, maxLength: 1)
        }
        async let written = onThread { () -> Int in
            let bytes = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = streams.output.write(bytes, maxLength: bytes.count)
                guard count > 0 else { return count }
            }
        }
        try await eventually { !streams.output.hasSpaceAvailable }
        streams.output.close()
        streams.input.close()
        #expect(await read <= 0)
        #expect(await written == -1)
    }

    @Test("Captured streams tell of the end, and the other side hears of theirs")
    func ends() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let streams = try await streams(of: rig.task, rig.recorder)
        #expect(streams.input.streamStatus == .notOpen && streams.output.streamStatus == .notOpen)
        let (count, statuses) = await onThread { () -> (Int, [Stream.Status]) in
            streams.input.open()
            streams.output.open()
            let opened = [streams.input.streamStatus, streams.output.streamStatus]
            streams.output.close()
            var buffer = [UInt8](repeating: 0, count: 16)
            let count = streams.input.read(&buffer, maxLength: buffer.count)
            return (count, opened + [streams.input.streamStatus, streams.output.streamStatus])
        }
        #expect(count == 0)
        #expect(statuses == [.open, .open, .atEnd, .closed])
    }

    @Test("The connection is closed when captured streams are released")
    func dropped() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        rig.task.captureStreams()
        try await rig.recorder.wait(for: .captured)
        try await rig.server.waitForConnections(1)
        rig.recorder.record.update { $0.streams = nil }
        try await rig.server.waitUntilNoConnections()
    }

    @Test("Streams that are captured over TLS go on over TLS")
    func secure() async throws {
        let nginx = try TLSNginx.shared()
        let server = try SwitchingServer(nginx.site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.trusting(nginx, delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.beginTLS()
        let streams = try await streams(of: task, recorder)
        let answer = await onThread { () -> String? in
            streams.input.open()
            streams.output.open()
            var line = Array("secret\n".utf8)
            guard streams.output.write(&line, maxLength: line.count) == line.count else { return nil }
            return streams.read(12)
        }
        #expect(answer == "TLS: secret\n")
        let rest = await onThread { () -> Int in
            var line = Array("drop\n".utf8)
            guard streams.output.write(&line, maxLength: line.count) == line.count, streams.read(10) == "TLS: drop\n"
            else { return 1 }
            var byte: UInt8 = 0
            return streams.input.read(&byte, maxLength: 1)
        }
        #expect(rest == -1)
        #expect(streams.input.streamStatus == .error && streams.input.streamError != nil)
    }

    private static let otherMode = RunLoop.Mode(rawValue: "CapturedStreamTests")
    private static let schedules: [(modes: [RunLoop.Mode], opensFirst: Bool)] = [
        ([.default], false), ([.default, otherMode], false), ([.default], true),
    ]

    @Test("Captured streams in a run loop tell their delegate what there is to do, in every mode", arguments: schedules)
    func runLoop(_ modes: [RunLoop.Mode], _ opensFirst: Bool) async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let streams = try await streams(of: rig.task, rig.recorder)
        let echo = RunLoopEcho(Array("hello".utf8))
        let result = await onThread { echo.run(streams.input, streams.output, in: modes, opensFirst: opensFirst) }
        #expect(result == "hello")
        #expect(echo.events.value.filter { $0 == .openCompleted }.count == 2)
        #expect(echo.events.value.last == .endEncountered)
    }

    @Test("A delegate that reads all there is isn't told of it once more")
    func draining() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let streams = try await streams(of: rig.task, rig.recorder)
        let drain = RunLoopDrain(streams.output)
        let result = await onThread { drain.run(streams.input) }
        #expect(result == "0123456789x")
        #expect(drain.emptyEvents.value == 0)
    }

    @Test("A stream that is scheduled after it was closed keeps no run loop waiting")
    func noWaiting() async throws {
        let rig = try StreamTaskRig()
        defer { rig.stop() }
        let streams = try await streams(of: rig.task, rig.recorder)
        let waits = await onThread { () -> [Bool] in
            (0..<2).map { _ in
                streams.output.schedule(in: .current, forMode: .default)
                defer { streams.output.close() }
                return RunLoop.current.run(mode: .default, before: Date())
            }
        }
        #expect(waits == [true, false])
    }

    @Test("Over TLS a captured stream's delegate hears of every byte, even of those that came with others")
    func secureRunLoop() async throws {
        let nginx = try TLSNginx.shared()
        let server = try SwitchingServer(nginx.site)
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.trusting(nginx, delegate: recorder)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        try await task.beginTLS()
        let streams = try await streams(of: task, recorder)
        // Each line comes back as a record, which is longer than what is read at once.
        let echo = RunLoopEcho(Array("hello\ngoodbye\n".utf8))
        let result = await onThread { echo.run(streams.input, streams.output) }
        #expect(result == "TLS: hello\nTLS: goodbye\n")
        #expect(echo.events.value.last == .endEncountered)
    }
}

/// Has ten bytes echoed, reads them in one event, has another one echoed, and closes: in events of a run loop.
private final class RunLoopDrain: NSObject, StreamDelegate, @unchecked Sendable {
    // @unchecked: one thread's.
    let emptyEvents = Watched(0)
    private let output: OutputStream
    private var received: [UInt8] = []
    private var isOver = false

    init(_ output: OutputStream) {
        self.output = output
    }

    func run(_ input: InputStream) -> String {
        input.delegate = self
        input.schedule(in: .current, forMode: .default)
        input.open()
        output.open()
        write("0123456789")
        while !isOver { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1)) }
        input.close()
        return String(decoding: received, as: UTF8.self)
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = output.write(bytes, maxLength: bytes.count)
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        if [.endEncountered, .errorOccurred].contains(eventCode) { isOver = true }
        guard eventCode == .hasBytesAvailable, let input = aStream as? InputStream else { return }
        guard input.hasBytesAvailable else { return emptyEvents.update { $0 += 1 } }
        var buffer = [UInt8](repeating: 0, count: 5)
        repeat {
            let count = input.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { return }
            received += buffer[..<count]
            if received.count == 10 { write("x") }
            if received.count == 11 { output.close() }
        } while input.hasBytesAvailable
    }
}

/// Writes bytes when there is room, closes, and reads until the end: all of it in events of a run loop.
private final class RunLoopEcho: NSObject, StreamDelegate, @unchecked Sendable {
    // @unchecked: one thread's.
    let events = Watched<[Stream.Event]>([])
    private var unwritten: [UInt8]
    private var received: [UInt8] = []
    private var isOver = false

    init(_ bytes: [UInt8]) {
        unwritten = bytes
    }

    /// Runs in the last of the modes.
    func run(
        _ input: InputStream,
        _ output: OutputStream,
        in modes: [RunLoop.Mode] = [.default],
        opensFirst: Bool = false
    ) -> String {
        for stream in [input, output] as [Stream] {
            if opensFirst { stream.open() }
            stream.delegate = self
            for mode in modes { stream.schedule(in: .current, forMode: mode) }
            if !opensFirst { stream.open() }
        }
        while !isOver, let mode = modes.last {
            _ = RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 0.1))
        }
        for mode in modes { input.remove(from: .current, forMode: mode) }
        input.close()
        return String(decoding: received, as: UTF8.self)
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        events.update { $0.append(eventCode) }
        switch eventCode {
        case .hasSpaceAvailable:
            guard let output = aStream as? OutputStream else { return }
            let count = output.write(&unwritten, maxLength: unwritten.count)
            unwritten.removeFirst(max(0, count))
            if unwritten.isEmpty { output.close() }
        case .hasBytesAvailable:
            guard let input = aStream as? InputStream else { return }
            var buffer = [UInt8](repeating: 0, count: 2)
            let count = input.read(&buffer, maxLength: buffer.count)
            received += buffer[..<max(0, count)]
        case .endEncountered, .errorOccurred:
            isOver = true
        default:
            break
        }
    }
}
