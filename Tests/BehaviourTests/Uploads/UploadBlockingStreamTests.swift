import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Streams that make their reader wait", .timeLimit(.minutes(1)))
struct UploadBlockingStreamTests {
    private func request(_ url: URL, _ stream: InputStream, length: Int? = nil) -> URLRequest {
        var request = URLRequest(url, method: "POST")
        request.httpBodyStream = stream
        if let length { request.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
        return request
    }

    @Test("A hundred streams that block hold up no other task, and end with their own")
    func others() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig {
            .text("\($0.bodyLength)")
        } configure: {
            $0.httpMaximumConnectionsPerHost = 200
        }
        defer { rig.stop() }
        let streams = try (0..<100).map { _ in try BlockingStream(in: directory) }
        let delegate = RecordingDelegate()
        let uploads = streams.map { rig.session.dataTask(with: request(rig.url("/slow"), $0.stream)) }
        for task in uploads {
            task.delegate = delegate
            task.resume()
        }
        try await rig.server.waitForConnections(100)
        for _ in 0..<10 { #expect(await rig.session.load(rig.url("/quick")).text == "0") }
        for (number, task) in uploads.enumerated() {
            if number % 2 == 0 { task.cancel() } else { try streams[number].write(Data("x".utf8)) }
        }
        try await rig.server.waitForBodyBytesReceived(50)
        for stream in streams { try stream.finish() }
        for (number, task) in uploads.enumerated() {
            #expect(try await delegate.completion(of: task)?.code == (number % 2 == 0 ? .cancelled : nil))
        }
    }

    @Test("Hundreds of streams that block at once take no thread from other tasks")
    func hundreds() async throws {
        let gate = Gate()
        defer { gate.open() }
        let rig = try Rig {
            .text("\($0.bodyLength)")
        } configure: {
            $0.httpMaximumConnectionsPerHost = 400
        }
        defer { rig.stop() }
        let delegate = RecordingDelegate()
        let readers = Watched(0)
        let uploads = (0..<300).map { _ in
            rig.session.dataTask(with: request(rig.url("/slow"), HeldStream(until: gate, readers: readers)))
        }
        for task in uploads {
            task.delegate = delegate
            task.resume()
        }
        // Dispatch has 255 threads for all queues of a class.
        try await readers.wait { $0 == 300 }
        #expect(await rig.session.load(rig.url("/quick")).text == "0")
        gate.open()
        for task in uploads { #expect(try await delegate.completion(of: task) == nil) }
    }

    @Test("A body that a stream gives little by little is sent little by little")
    func slowly() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig(answering: .atHead) { .echoBody($0).after([.waitForBody]) }
        defer { rig.stop() }
        let source = try BlockingStream(in: directory)
        let load = Task { await rig.session.load(request(rig.url("/"), source.stream)) }
        for count in 1...5 {
            try source.write(Data("part\(count)".utf8))
            try await rig.server.waitForBodyBytesReceived(Int64(5 * count))
        }
        try source.finish()
        #expect(await load.value.error == nil)
        #expect(rig.server.requests[0].text == "part1part2part3part4part5")
    }

    @Test("A stream that gives nothing for longer than the request's time-out times out")
    func timeout() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let source = try BlockingStream(in: directory)
        var request = request(rig.url("/"), source.stream)
        request.timeoutInterval = 0.3
        #expect(await rig.session.load(request).error?.code == .timedOut)
        try source.finish()
    }

    @Test("A stream that is shorter than its Content-Length fails, and the server gets no complete request")
    func tooShort() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let error = await rig.session.load(request(rig.url("/"), InputStream(data: Data("short".utf8)), length: 10))
            .error
        #expect(error?.code == .requestBodyStreamExhausted)
        #expect(error?.localizedDescription.contains("Content-Length") == true)
        try await rig.server.waitUntilNoConnections()
        #expect(rig.server.requests.allSatisfy { $0.bodyState != .complete })
    }

    @Test("A stream that is longer than its Content-Length fails, and the server gets no request of its rest")
    func tooLong() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let stream = InputStream(data: Data("fineGET /evil HTTP/1.1\r\n\r\n".utf8))
        let error = await rig.session.load(request(rig.url("/"), stream, length: 4)).error
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.localizedDescription.contains("Content-Length") == true)
        #expect(await rig.session.load(rig.url("/next")).text == "0")
        #expect(rig.server.requests.filter { $0.bodyState == .complete }.map(\.path) == ["/next"])
    }

    @Test("A stream that isn't empty though its Content-Length is 0 fails the task, and the server gets nothing")
    func longerThanNothing() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let error = await rig.session.load(request(rig.url("/"), InputStream(data: Data("more".utf8)), length: 0)).error
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.localizedDescription.contains("Content-Length") == true)
        let gone = URL(fileURLWithPath: "/nowhere/\(UUID().uuidString)")
        let stream = try #require(InputStream(url: gone))
        #expect(
            await rig.session.load(request(rig.url("/"), stream, length: 0)).error?.code == .requestBodyStreamExhausted
        )
        #expect(rig.server.requestCount == 0)
        #expect(await rig.session.load(request(rig.url("/"), InputStream(data: Data()), length: 0)).text == "0")
        #expect(rig.server.requests.map { $0.headers(named: "Content-Length") } == [["0"]])
    }

    @Test("A stream whose Content-Length is 0, and that gives nothing for the request's time-out, counts as empty")
    func silentAndEmpty() async throws {
        let directory = try TemporaryDirectory()
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let source = try BlockingStream(in: directory)
        var request = request(rig.url("/"), source.stream, length: 0)
        request.timeoutInterval = 3
        #expect(await rig.session.load(request).text == "0")
        #expect(rig.server.requests.map { $0.headers(named: "Content-Length") } == [["0"]])
        try source.finish()
    }

    @Test("Every message about progress has the length if it is known")
    func knownLength() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let content = GeneratedBody.bytes(seed: 1, length: 700_000)
        let task = rig.session.dataTask(with: request(rig.url("/"), InputStream(data: content), length: content.count))
        task.resume()
        try await delegate.success(of: task)
        #expect(rig.server.requests[0].body == content)
        let sent = delegate.events(of: task).compactMap { event in
            if case .sent(_, let total, let expected) = event { (total, expected) } else { nil }
        }
        #expect(sent.allSatisfy { $0.1 == 700_000 })
        #expect(sent.last?.0 == 700_000)
    }

    @Test("The longest files are sent with their length", arguments: [(5 as Int64) << 30])
    func longFile(length: Int64) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.sparseFile(length: length)
        let delegate = RecordingDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in .text("no", status: 413).closing() }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), fromFile: file)
        task.resume()
        try await delegate.success(of: task)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 413)
        #expect(rig.server.requests[0].headers(named: "Content-Length") == ["\(length)"])
        #expect(task.countOfBytesExpectedToSend == length)
    }

    @Test("A stream that is faster than the network passes through little memory")
    func fastStream() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.counting()
            defer { server.stop() }
            let directory = try TemporaryDirectory()
            let file = try directory.sparseFile(length: 1 << 30)
            let session = URLSession.forTest()
            var request = URLRequest(server.url("/"), method: "PUT")
            request.httpBodyStream = InputStream(data: Data(count: 1 << 20))
            _ = try await session.data(for: request)
            let before = ProcessUsage().resident
            try ProcessUsage.resetPeak()
            request.httpBodyStream = InputStream(url: file)
            let (data, _) = try await session.data(for: request)
            #expect(data == Data("\(1 << 30)".utf8))
            #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 24 << 20))
        }
    }

    @Test("Three gigabytes pass through little memory to a reader that only counts")
    func largeFile() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.counting()
            defer { server.stop() }
            let directory = try TemporaryDirectory()
            let file = try directory.sparseFile(length: 3 << 30)
            let session = URLSession.forTest()
            let request = URLRequest(server.url("/"), method: "PUT")
            _ = try await session.upload(for: request, from: Data(count: 1 << 20))
            let before = ProcessUsage().resident
            try ProcessUsage.resetPeak()
            let (data, _) = try await session.upload(for: request, fromFile: file)
            #expect(data == Data("\(3 << 30)".utf8))
            #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 24 << 20))
        }
    }
}
