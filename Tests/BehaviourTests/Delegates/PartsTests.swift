import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("multipart/x-mixed-replace", .timeLimit(.minutes(1)))
struct PartsTests {
    private static let mixedReplace = "multipart/x-mixed-replace; boundary=frame"

    private static func part(_ number: Int) -> String {
        "--frame\r\nContent-Type: text/plain\r\nX-Number: \(number)\r\n\r\npart \(number)\r\n"
    }

    /// What a delegate hears: names of messages, with the part's number for a response and the text for data.
    private final class Parts: NSObject, URLSessionDataDelegate {
        let story = Watched<[String]>([])
        private let answer: @Sendable (HTTPURLResponse?) -> URLSession.ResponseDisposition

        init(answer: @escaping @Sendable (HTTPURLResponse?) -> URLSession.ResponseDisposition = { _ in .allow }) {
            self.answer = answer
        }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            let response = response as? HTTPURLResponse
            let number = response?.value(forHTTPHeaderField: "X-Number") ?? "none"
            let type = response?.mimeType ?? "none"
            let isShown = dataTask.response === response
            story.update { $0.append("\(response?.statusCode ?? 0) \(type) \(number) \(isShown)") }
            completionHandler(answer(response))
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            story.update { story in
                let text = String(decoding: data, as: UTF8.self)
                if story.last?.hasPrefix("data ") == true {
                    story[story.count - 1] += text
                } else {
                    story.append("data " + text)
                }
            }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            story.update { $0.append("completed \((error as? URLError)?.code.rawValue ?? 0)") }
        }
    }

    @Test("The delegate gets the whole's response, and then a response and the bytes of each part as it comes")
    func parts() async throws {
        let gate = Gate()
        let delegate = Parts()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces(
                [
                    .bytes("preamble\r\n" + Self.part(1) + Self.part(2) + "--frame\r\nX-Nu"), .waitFor(gate),
                    .bytes("mber: 3\r\n\r\npart 3\r\n--frame--\r\nepilogue"),
                ],
                contentType: Self.mixedReplace
            ).header("X-Whole", "yes")
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        let beginning = [
            "200 multipart/x-mixed-replace none true", "200 text/plain 1 true", "data part 1", "200 text/plain 2 true",
            "data part 2",
        ]
        try await delegate.story.wait { $0.count >= beginning.count }
        #expect(delegate.story.value == beginning)
        gate.open()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        let rest = delegate.story.value.dropFirst(beginning.count)
        #expect(rest.dropFirst() == ["data part 3", "completed 0"])
        #expect(rest.first?.hasSuffix("3 true") == true)
    }

    @Test("A second answer about a part doesn't count for the next")
    func secondAnswer() async throws {
        typealias Handler = @Sendable (URLSession.ResponseDisposition) -> Void
        final class Keeper: NSObject, URLSessionDataDelegate {
            let handlers = Watched<[Handler]>([])
            let text = Watched("")

            func urlSession(
                _ session: URLSession,
                dataTask: URLSessionDataTask,
                didReceive response: URLResponse,
                completionHandler: @escaping Handler
            ) {
                handlers.update { $0.append(completionHandler) }
            }

            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                text.update { $0 += String(decoding: data, as: UTF8.self) }
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                text.update { $0 += error == nil ? "." : "!" }
            }
        }
        let delegate = Keeper()
        let rig = try Rig(delegate: delegate) { _ in
            .text(Self.part(1) + Self.part(2) + "--frame--", contentType: Self.mixedReplace)
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        for count in 1...3 {
            try await delegate.handlers.wait { $0.count == count }
            let handlers = delegate.handlers.value
            for handler in handlers.dropLast() { handler(.cancel) }
            handlers[count - 1](.allow)
        }
        try await delegate.text.wait { $0.hasSuffix(".") || $0.hasSuffix("!") }
        #expect(delegate.text.value == "part 1part 2.")
    }

    @Test("A part's delegate can end the task; nothing more of it is delivered")
    func cancelled() async throws {
        let delegate = Parts { $0?.value(forHTTPHeaderField: "X-Number") == "2" ? .cancel : .allow }
        let rig = try Rig(delegate: delegate) { _ in
            .pieces(
                [.bytes(Self.part(1) + Self.part(2) + Self.part(3)), .never],
                contentType: Self.mixedReplace
            )
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        #expect(
            delegate.story.value == [
                "200 multipart/x-mixed-replace none true", "200 text/plain 1 true", "data part 1",
                "200 text/plain 2 true", "completed \(URLError.Code.cancelled.rawValue)",
            ]
        )
    }

    @Test("A part's response has its own fields, and those of the whole that don't describe the body")
    func fields() async throws {
        let responses = Watched<[HTTPURLResponse]>([])
        let delegate = Parts { response in
            responses.update { $0 += response.map { [$0] } ?? [] }
            return .allow
        }
        let rig = try Rig(delegate: delegate) { _ in
            .text(Self.part(1) + "--frame--", contentType: Self.mixedReplace).headers([
                "X-Whole": "yes", "X-Number": "0", "Content-Language": "de", "Content-Location": "/whole",
            ])
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.last == "completed 0" }
        let part = try #require(responses.value.last)
        #expect(part.value(forHTTPHeaderField: "X-Whole") == "yes")
        #expect(part.value(forHTTPHeaderField: "X-Number") == "1")
        for name in ["Content-Language", "Content-Location", "Content-Length"] {
            #expect(part.value(forHTTPHeaderField: name) == nil)
        }
    }

    @Test("A part can't become a download or a stream: it is allowed", arguments: [true, false])
    func becoming(download: Bool) async throws {
        let delegate = Parts {
            $0?.value(forHTTPHeaderField: "X-Number") == nil ? .allow : download ? .becomeDownload : .becomeStream
        }
        let rig = try Rig(delegate: delegate) { _ in
            .text(Self.part(1) + Self.part(2) + "--frame--", contentType: Self.mixedReplace)
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        #expect(delegate.story.value.filter { $0.hasPrefix("data ") } == ["data part 1", "data part 2"])
        #expect(delegate.story.value.last == "completed 0")
    }

    @Test("Thousands of small parts come whole and in order, however slow the delegate is")
    func manyParts() async throws {
        let count = 5000
        let body = (0..<count).map(Self.part).joined() + "--frame--"
        let gate = Gate()
        let delegate = Parts { _ in
            gate.waitBlocking()
            return .allow
        }
        let rig = try Rig(delegate: delegate) { _ in .text(body, contentType: Self.mixedReplace) }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { !$0.isEmpty }
        gate.open()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        let story = delegate.story.value
        #expect(story.last == "completed 0")
        #expect(story.filter { $0.hasPrefix("data ") } == (0..<count).map { "data part \($0)" })
    }

    @Test("Parts that wait for a slow delegate share what the whole response says")
    func manyFieldsAndParts() async {
        await #expect(processExitsWith: .success) {
            let gate = Gate()
            let delegate = Parts {
                guard $0?.value(forHTTPHeaderField: "X-Number") != nil else { return .allow }
                gate.waitBlocking()
                return .cancel
            }
            let body = (0..<16_000).map { "--frame\r\nX-Number: \($0)\r\n\r\n0123456789\r\n" }.joined()
            let rig = try Rig(delegate: delegate) { request in
                guard request.path == "/parts" else { return .text("") }
                return (0..<4000).reduce(.text(body, contentType: PartsTests.mixedReplace)) { $0.header("a\($1)", "") }
            }
            _ = try await rig.session.data(from: rig.url("/"))
            let before = ProcessUsage().resident
            try ProcessUsage.resetPeak()
            rig.session.dataTask(with: rig.url("/parts")).resume()
            try await delegate.story.wait { $0.count == 2 }
            // Within them the loop takes what it wants of the parts.
            for _ in 0..<3 { _ = try await rig.session.data(from: rig.url("/")) }
            gate.open()
            try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
            #expect(ProcessUsage().peak - before < ProcessUsage.growth(of: 32 << 20))
            rig.stop()
        }
    }

    @Test("A part whose head has no end fails the task")
    func endlessHead() async throws {
        let delegate = Parts()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces(
                [.bytes("--frame\r\n" + String(repeating: "X: 1\r\n", count: 10_000)), .never],
                contentType: Self.mixedReplace
            )
        }
        defer { rig.stop() }
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        #expect(delegate.story.value.last == "completed \(URLError.Code.cannotParseResponse.rawValue)")
    }

    @Test("An answer that comes after the body divides it all the same, up to its last byte")
    func lateAnswer() async throws {
        let body = "preamble\r\n" + Self.part(1) + "--frame\r\nX-Number: 2\r\n\r\npart 2\r\n--fra"
        let story = try await storyAnsweredLate(of: body)
        #expect(
            story == [
                "200 multipart/x-mixed-replace none true", "200 text/plain 1 true", "data part 1",
                story[3], "data part 2\r\n--fra", "completed 0",
            ]
        )
        #expect(story[3].hasSuffix(" 2 true"))
    }

    @Test("A part whose head has no end fails the task, also if the answer comes after it")
    func lateFailure() async throws {
        let body = Self.part(1) + "--frame\r\n" + String(repeating: "X: 1\r\n", count: 10_000)
        let story = try await storyAnsweredLate(of: body)
        #expect(story.first == "200 multipart/x-mixed-replace none true")
        #expect(story.last == "completed \(URLError.Code.cannotParseResponse.rawValue)")
    }

    /// What a delegate hears that answers when the whole body has arrived.
    private func storyAnsweredLate(of body: String) async throws -> [String] {
        let gate = Gate()
        let delegate = Parts { _ in
            gate.waitBlocking()
            return .allow
        }
        let rig = try Rig(delegate: delegate) { request in
            .text(request.path == "/parts" ? body : "", contentType: Self.mixedReplace)
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/parts"))
        task.resume()
        try await delegate.story.wait { !$0.isEmpty }
        // It gets the only connection when the body is complete.
        _ = try await rig.session.data(from: rig.url("/"))
        gate.open()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        #expect(task.countOfBytesReceived == Int64(body.utf8.count))
        return delegate.story.value
    }

    @Test("A download that the task becomes gets the body as it is, early or late", arguments: [true, false])
    func download(isBodyComplete: Bool) async throws {
        let gate = Gate()
        let first = "preamble\r\n" + Self.part(1) + "--frame\r\nX-Nu"
        let rest = "mber: 2\r\n\r\npart 2\r\n--frame--\r\nepilogue"
        let answers = DispositionTests.Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let rig = try Rig(delegate: delegate) { request in
            guard request.path == "/parts" else { return .text("") }
            return .pieces(
                [.bytes(first)] + (isBodyComplete ? [] : [.waitFor(gate)]) + [.bytes(rest)],
                contentType: Self.mixedReplace
            )
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/parts"))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        if isBodyComplete { _ = try await rig.session.data(from: rig.url("/")) }
        answers.value[0](.becomeDownload)
        try await delegate.wait(for: task) { $0 == .becameDownload }
        gate.open()
        let download = try #require(delegate.download(of: task))
        try await delegate.success(of: download)
        #expect(delegate.body(of: download) == Data((first + rest).utf8))
    }

    @Test("A delegate gets parts even if a handler has loaded a response that could be stored")
    func afterHandler() async throws {
        let delegate = Parts()
        let rig = try Rig(delegate: delegate) { _ in
            .text(Self.part(1) + "--frame--", contentType: Self.mixedReplace).header("Cache-Control", "max-age=1000")
        } configure: {
            $0.urlCache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == Self.part(1) + "--frame--")
        rig.session.dataTask(with: rig.url("/")).resume()
        try await delegate.story.wait { $0.last?.hasPrefix("completed") == true }
        #expect(
            delegate.story.value == [
                "200 multipart/x-mixed-replace none true", "200 text/plain 1 true", "data part 1", "completed 0",
            ]
        )
    }

    @Test("Handlers and async calls get the body as it is")
    func handlers() async throws {
        let body = Self.part(1) + "--frame--"
        let rig = try Rig { _ in .text(body, contentType: Self.mixedReplace) }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == body)
        let (data, _) = try await rig.session.data(from: rig.url("/"))
        #expect(data == Data(body.utf8))
    }
}
