import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("Responses that become streams", .timeLimit(.minutes(1)))
struct ResponseStreamTests {
    private func stream(_ recorder: StreamRecorder) async throws -> URLSessionStreamTask {
        try await recorder.wait(for: .becameStream)
        return try #require(recorder.record.value.streamTask)
    }

    /// The stream task that a data task of a new session has become.
    private func stream(from server: LoopbackServer) async throws -> (StreamRecorder, URLSession, URLSessionStreamTask)
    {
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        session.dataTask(with: server.url("/")).resume()
        return (recorder, session, try await stream(recorder))
    }

    @Test("The body is read from the stream task, which completes when all of it is", arguments: [0, 5, 100_000])
    func reading(_ length: Int) async throws {
        let body = String(repeating: "abcde", count: length / 5)
        let server = try LoopbackServer { _ in .text(body) }
        defer { server.stop() }
        let recorder = StreamRecorder()
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let data = session.dataTask(with: server.url("/"))
        data.resume()
        let task = try await stream(recorder)
        // Without a body there is nothing to wait for.
        #expect(data.state == .completed && (task.state == .running || length == 0))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.originalRequest?.url == server.url("/") && task.taskIdentifier == data.taskIdentifier)
        #expect(try await task.rest() == body)
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.becameStream, .readClosed, .completed(nil)])
        #expect(task.state == .completed && task.countOfBytesReceived == Int64(body.utf8.count))
    }

    @Test("A body that ends when all of it has been read completes the task", arguments: [true, false])
    func readBeforeTheEnd(_ isReading: Bool) async throws {
        let gate = Gate()
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        let server = try LoopbackServer { _ in .raw([.bytes(head), .waitFor(gate), .bytes("0\r\n\r\n")]) }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        #expect(try await task.text(5) == "hello")
        let reads = Watched<[Bool]>([])
        if isReading {
            task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { data, isAtEnd, error in
                reads.update { $0.append(isAtEnd && error == nil && data?.isEmpty != false) }
            }
        }
        gate.open()
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.becameStream, .readClosed, .completed(nil)])
        if isReading { try await reads.wait { $0 == [true] } }
        #expect(task.state == .completed && task.countOfBytesReceived == 5)
    }

    @Test("A multipart/x-mixed-replace body is read as it is")
    func parts() async throws {
        let body = "preamble\r\n--frame\r\nX-Number: 1\r\n\r\npart 1\r\n--frame--\r\nepilogue"
        let server = try LoopbackServer { _ in .text(body, contentType: "multipart/x-mixed-replace; boundary=frame") }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        #expect(try await task.rest() == body)
        #expect(try await recorder.completion() == nil)
    }

    @Test("Nothing can be written to a response's stream")
    func writing() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        await #expect(throws: URLError.self) { try await task.write("a") }
        #expect(try await task.rest() == "hello")
        #expect(try await recorder.completion() == nil)
    }

    @Test("closeRead ends the task at once, and the rest of the body with it")
    func closeRead() async throws {
        let server = try LoopbackServer { _ in .generated(length: 1 << 40) }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        #expect(try await task.text(10).utf8.count >= 10)
        task.closeRead()
        #expect(try await recorder.completion() == nil)
        #expect(recorder.events == [.becameStream, .readClosed, .completed(nil)])
        try await server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled, or whose body breaks off, fails its readers", arguments: [true, false])
    func failure(_ isCancelled: Bool) async throws {
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), isCancelled ? .never : .close])
        }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        if isCancelled { #expect(try await task.text(5) == "hello") }
        let code: URLError.Code = isCancelled ? .cancelled : .networkConnectionLost
        let result = Watched<[URLError.Code?]>([])
        task.readData(ofMinLength: 100, maxLength: 100, timeout: 0) { _, _, error in
            result.update { $0.append((error as? URLError)?.code) }
        }
        if isCancelled { task.cancel() }
        #expect(try await recorder.completion()?.code == code)
        try await result.wait { $0 == [code] }
    }

    @Test("Bytes of a body that breaks off can still be read after the task has completed with the error")
    func brokenOff() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .waitFor(gate), .close])
        }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        #expect(try await task.text(1) == "h")
        gate.open()
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
        #expect(try await task.text(2) == "el")
        await #expect(throws: URLError.self) { try await task.text(3) }
        let rest = await withCheckedContinuation { continuation in
            task.readData(ofMinLength: 3, maxLength: 9, timeout: 0) { data, isAtEnd, error in
                let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
                continuation.resume(returning: "\(text) \(isAtEnd) \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
        #expect(rest == "lo false -1005")
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
    }

    @Test(
        "A body that has broken off before its response becomes a stream can be read up to there",
        arguments: ["hello", ""]
    )
    func brokenOffBefore(_ beginning: String) async throws {
        let server = try LoopbackServer { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n\(beginning)"), .close])
        }
        defer { server.stop() }
        let isOver = Gate()
        let recorder = StreamRecorder(decidesAfter: isOver)
        let session = URLSession.forTest(delegate: recorder)
        defer { session.invalidateAndCancel() }
        let data = session.dataTask(with: server.url("/"))
        data.resume()
        try await server.waitForRequests(1)
        try await server.waitUntilNoConnections()
        // The loop has done what follows from that when it does something else.
        for _ in 0..<2 { _ = await session.connections }
        isOver.open()
        let task = try await stream(recorder)
        #expect(try await recorder.completion()?.code == .networkConnectionLost)
        if !beginning.isEmpty { #expect(try await task.text(5) == beginning) }
        await #expect { try await task.text(1) } throws: { ($0 as? URLError)?.code == .networkConnectionLost }
    }

    @Test("A task that is cancelled when all of its body is there, unread, completes with that")
    func cancelledUnread() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        #expect(try await task.text(1) == "h")
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
        await #expect(throws: URLError.self) { try await task.text(1) }
    }

    @Test("A response's stream has no connection that could be captured or secured", arguments: [true, false])
    func noConnection(_ captures: Bool) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        if captures { task.captureStreams() } else { task.startSecureConnection() }
        #expect(try await recorder.completion()?.code == .unsupportedURL)
    }

    @Test("A body that isn't read stops coming, and memory stays flat")
    func backPressure() async throws {
        let server = try LoopbackServer { _ in .generated(length: 1 << 40) }
        defer { server.stop() }
        let (recorder, session, task) = try await stream(from: server)
        defer { session.invalidateAndCancel() }
        try await server.waitUntilBlocked()
        #expect(task.countOfBytesReceived < 4 << 20)
        let (data, _) = try await task.readData(ofMinLength: 8 << 20, maxLength: 8 << 20, timeout: 0)
        #expect(data?.count == 8 << 20)
        task.cancel()
        #expect(try await recorder.completion()?.code == .cancelled)
    }
}
