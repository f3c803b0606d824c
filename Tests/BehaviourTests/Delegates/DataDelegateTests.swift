import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Data tasks with a delegate", .timeLimit(.minutes(1)))
struct DataDelegateTests {
    @Test("The delegate hears of creation, response, data and completion, in this order")
    func order() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("hello") }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(
            delegate.events(of: task) == [.created, .response(status: 200), .data(count: 5), .completed(nil)]
        )
    }

    @Test("didCreateTask comes before the creating method returns, with the task not yet running", arguments: 0..<6)
    func created(kind: Int) throws {
        let states = Watched<[URLSessionTask.State]>([])
        let delegate = RecordingDelegate(onEvent: { task, _ in
            if let task { states.update { $0.append(task.state) } }
        })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let task: URLSessionTask =
            switch kind {
            case 0: session.dataTask(with: url)
            case 1: session.dataTask(with: url) { _, _, _ in }
            case 2: session.uploadTask(with: URLRequest(url: url), from: Data())
            case 3: session.uploadTask(with: URLRequest(url: url), from: nil) { _, _, _ in }
            case 4: session.downloadTask(with: url)
            default: session.downloadTask(with: url) { _, _, _ in }
            }
        #expect(delegate.events(of: task) == [.created])
        #expect(states.value == [.suspended])
    }

    @Test("The pieces of data make up the body", arguments: [1, 4096, 1_000_003])
    func pieces(length: Int) async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .generated(length: Int64(length), seed: 8) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 8, length: length))
        let counts = delegate.events(of: task).compactMap { if case .data(let count) = $0 { count } else { nil } }
        #expect(counts.reduce(0, +) == length)
        #expect(!counts.contains(0))
    }

    @Test("Data that has arrived before a failure is delivered before it")
    func failure() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .networkConnectionLost)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 0, length: 1000))
    }

    @Test("Data is delivered as it comes, not only at the end")
    func asItComes() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .pieces([.bytes("first "), .waitFor(gate), .bytes("second")]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 6)
        #expect(delegate.body(of: task) == Data("first ".utf8))
        gate.open()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("first second".utf8))
    }

    @Test("A delegate that implements nothing is no hindrance")
    func bareDelegate() async throws {
        final class Bare: NSObject, URLSessionDataDelegate {}
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest(delegate: Bare())
        session.dataTask(with: server.url("/")).resume()
        session.finishTasksAndInvalidate()
        try await server.waitForRequests(1)
        try await server.waitUntilNoConnections()
        #expect(server.requests.count == 1)
    }
}
