import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The disposition of a response", .timeLimit(.minutes(1)))
struct DispositionTests {
    /// Where a test keeps an answer until it is time to give it.
    typealias Answers = Watched<[RecordingDelegate.Disposition]>

    @Test("allow delivers the body, whenever and from whichever thread", arguments: ["at once", "later", "elsewhere"])
    func allow(when: String) async throws {
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in
            switch when {
            case "at once": answer(.allow)
            case "later": answers.update { $0.append(answer) }
            default: onOtherThread { answer(.allow) }
            }
        })
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        if when == "later" {
            try await answers.wait { !$0.isEmpty }
            answers.value[0](.allow)
        }
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("No body byte and no completion come before the answer, whether the body has arrived or not")
    func nothingBeforeTheAnswer() async throws {
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { task, _, answer in
            guard task.taskDescription == "late" else { return answer(.allow) }
            answers.update { $0.append(answer) }
        })
        let rig = try Rig(delegate: delegate) { _ in
            .text("hello")
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.taskDescription = "late"
        task.resume()
        try await answers.wait { !$0.isEmpty }
        // The other task gets the one connection when the first transfer is over, and the delegate queue after it.
        let other = rig.session.dataTask(with: rig.url("/"))
        other.resume()
        try await delegate.success(of: other)
        #expect(delegate.events(of: task) == [.created, .response(status: 200)])
        #expect(task.state == .running)
        answers.value[0](.allow)
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("While the answer is awaited a large body doesn't pile up in memory")
    func boundedWhileWaiting() async throws {
        let length: Int64 = 64 << 20
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let rig = try Rig(delegate: delegate) { _ in .generated(length: length, seed: 9) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        try await rig.server.waitUntilBlocked()
        await rig.session.flush()
        #expect(task.countOfBytesReceived <= 2 << 20)
        answers.value[0](.allow)
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 9, length: Int(length)))
    }

    @Test("cancel ends the task as cancelled, with no body, and closes the connection", arguments: [true, false])
    func cancel(isLate: Bool) async throws {
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in
            if isLate { answers.update { $0.append(answer) } } else { answer(.cancel) }
        })
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        if isLate {
            try await answers.wait { !$0.isEmpty }
            answers.value[0](.cancel)
        }
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(delegate.events(of: task) == [.created, .response(status: 200), .completed(.cancelled)])
        try await rig.server.waitUntilNoConnections()
    }

    @Test("Only the first answer about a response counts")
    func twice() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let delegate = RecordingDelegate(onResponse: { _, _, answer in
            answer(.allow)
            answer(.cancel)
            answer(.becomeDownload)
        })
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.success(of: task)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        #expect(delegate.body(of: task) == Data("hello".utf8))
    }

    @Test("A task that is cancelled while it awaits the answer completes once, and a late answer does nothing")
    func cancelledMeanwhile() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let session = URLSession.forTest(delegate: delegate)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        answers.value[0](.allow)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(delegate.events(of: task) == [.created, .response(status: 200), .completed(.cancelled)])
    }

    @Test("A task whose connection breaks while it awaits the answer fails after the answer")
    func brokenMeanwhile() async throws {
        let gate = Gate()
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answers.update { $0.append(answer) } })
        let rig = try Rig(delegate: delegate) { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .waitFor(gate), .close])
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await answers.wait { !$0.isEmpty }
        gate.open()
        try await rig.server.waitUntilNoConnections()
        await rig.session.flush()
        #expect(delegate.completionCount(of: task) == 0)
        answers.value[0](.allow)
        #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
        #expect(delegate.body(of: task) == Data("abc".utf8))
    }

    @Test("cancel counts even if the transfer ends at that very moment")
    func cancelAtTheEnd() async throws {
        func server(waitingFor gate: Gate) throws -> LoopbackServer {
            try LoopbackServer { request in
                guard request.path == "/" else { return .text("held") }
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
                return .raw([.bytes(head + "abc"), .waitFor(gate), .bytes("def"), .close])
            }
        }
        let (gates, holds) = ([Gate(), Gate()], [Gate(), Gate()])
        let releases = [Gate(), Gate()]
        let servers = try (gates + [Gate()]).map { try server(waitingFor: $0) }
        defer { for server in servers { server.stop() } }
        let answers = Answers([])
        let delegate = RecordingDelegate(onResponse: { task, _, answer in
            guard task.taskDescription == "cancelled" else { return answer(.allow) }
            answers.update { $0.append(answer) }
        })
        let session = URLSession.forTest(delegate: delegate) {
            $0.useOneConnection()
            $0.curl.configureTransfer = { _, request in
                guard let number = request.url.flatMap({ Int($0.lastPathComponent) }) else { return }
                holds[number].open()
                releases[number].waitBlocking()
            }
        }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: servers[1].url("/"))
        task.taskDescription = "cancelled"
        let neighbour = session.dataTask(with: servers[0].url("/"))
        for task in [task, neighbour] { task.resume() }
        try await answers.wait { !$0.isEmpty }
        try await delegate.wait(for: neighbour) { $0.name == "data" }
        // It starts when its neighbour has ended, and before the task does, and holds the loop up there.
        let follower = session.dataTask(with: servers[0].url("/1"))
        follower.resume()
        // Both end while the loop is held up, and so at once for the loop.
        session.dataTask(with: servers[2].url("/0")).resume()
        try await holds[0].wait()
        for (gate, server) in zip(gates, servers) {
            gate.open()
            try await server.waitUntilNoConnections()
        }
        releases[0].open()
        try await holds[1].wait()
        answers.value[0](.cancel)
        releases[1].open()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(delegate.body(of: task) == nil)
        try await delegate.success(of: follower)
    }

    @Test("Upload tasks ask for the disposition as well")
    func upload() async throws {
        let delegate = RecordingDelegate(onResponse: { _, _, answer in answer(.cancel) })
        let rig = try Rig(delegate: delegate) { .echoBody($0) }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: Data("x".utf8))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }
}
