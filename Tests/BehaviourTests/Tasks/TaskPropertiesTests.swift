import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The properties of a task", .timeLimit(.minutes(1)))
struct TaskPropertiesTests {
    @Test("Identifiers are unique within a session")
    func identifiers() {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = URL(fileURLWithPath: "/")
        var tasks: [URLSessionTask] = []
        for _ in 0..<10 {
            tasks.append(session.dataTask(with: url))
            tasks.append(session.downloadTask(with: url))
        }
        #expect(Set(tasks.map(\.taskIdentifier)).count == 20)
    }

    @Test("The original request is the one given, and the current one starts as it")
    func requests() throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:1/path"))
        let request = URLRequest(url, method: "POST", headers: ["X-A": "b"], body: Data("c".utf8))
        let task = session.dataTask(with: request)
        #expect(task.originalRequest == request)
        #expect(task.originalRequest?.httpBody == Data("c".utf8))
        #expect(task.currentRequest == request)
        #expect(session.dataTask(with: url).originalRequest?.url == url)
    }

    @Test("The response is there as soon as its head is, and stays")
    func response() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces([.bytes("a"), .waitFor(gate), .bytes("b")]).header("X-Name", "value")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/path?query"))
        #expect(task.response == nil)
        task.resume()
        try await delegate.wait(for: task, bytes: 1)
        for _ in 0..<2 {
            let response = try #require(task.response as? HTTPURLResponse)
            #expect(response.statusCode == 200)
            #expect(response.url == rig.url("/path?query"))
            #expect(response.expectedContentLength == 2)
            #expect(response.mimeType == "application/octet-stream")
            #expect(response.value(forHTTPHeaderField: "x-name") == "value")
            gate.open()
            _ = try await delegate.completion(of: task)
        }
    }

    @Test("The error is nil until the task has failed, and then what its owner was told")
    func error() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .fault(.beforeAnyByte) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        #expect(task.error == nil)
        task.resume()
        let error = try await delegate.completion(of: task)
        #expect(error?.code == .networkConnectionLost)
        #expect((task.error as? URLError)?.code == .networkConnectionLost)
        #expect(task.response == nil)
    }

    @Test("Description, priority and expectations are the program's to set")
    func settable() {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: URL(fileURLWithPath: "/"))
        #expect(task.taskDescription == nil)
        task.taskDescription = "the one"
        #expect(task.taskDescription == "the one")
        #expect(task.priority == URLSessionTask.defaultPriority)
        task.priority = URLSessionTask.highPriority
        #expect(task.priority == 0.75)
        #expect(task.countOfBytesClientExpectsToReceive == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesClientExpectsToSend == NSURLSessionTransferSizeUnknown)
        task.countOfBytesClientExpectsToReceive = 10
        task.countOfBytesClientExpectsToSend = 20
        #expect(task.countOfBytesClientExpectsToReceive == 10)
        #expect(task.countOfBytesClientExpectsToSend == 20)
    }

    @Test("The counters move with the bytes, in both directions")
    func counters() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .pieces([.body(.generated(length: 1000)), .waitFor(gate), .body(.generated(length: 500))])
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "PUT")
        let task = rig.session.uploadTask(with: request, from: Data(repeating: 1, count: 700))
        #expect(task.countOfBytesReceived == 0 && task.countOfBytesSent == 0)
        task.resume()
        try await delegate.wait(for: task, bytes: 1000)
        #expect(task.countOfBytesSent == 700)
        #expect(task.countOfBytesExpectedToSend == 700)
        #expect(task.countOfBytesReceived == 1000)
        #expect(task.countOfBytesExpectedToReceive == 1500)
        gate.open()
        _ = try await delegate.completion(of: task)
        #expect(task.countOfBytesReceived == 1500)
        #expect(task.countOfBytesSent == 700)
    }

    @Test("The bytes to be received are unknown if the server doesn't tell")
    func unknownLength() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .chunked(["abc", "def"]) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        _ = try await delegate.completion(of: task)
        #expect(task.countOfBytesExpectedToReceive == NSURLSessionTransferSizeUnknown)
        #expect(task.response?.expectedContentLength == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesReceived == 6)
        #expect(NSURLSessionTransferSizeUnknown == -1)
    }

    @Test("Copying a task gives the task itself")
    func copies() {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: URL(fileURLWithPath: "/"))
        #expect(task.copy() as? URLSessionTask === task)
    }
}
