import CurlNetworkingLocks
import Foundation
import Testing

@testable import CurlNetworking

@Suite("A task on an engine that is no event loop")
struct TaskEngineTests {
    /// Notes the intents, and shows what it is told to.
    final class Engine: TaskEngine {
        struct State {
            var intents: [String] = []
            var snapshot = TaskSnapshot()
            var settings = TaskSettings()
            var delegate: (any URLSessionTaskDelegate)?
        }

        let identifier = 7
        let originalRequest: URLRequest?
        let isHidden = false
        let requestWithBody: URLRequest? = nil
        let tellsDelegateOfResult = true
        let state = Mutex(State())
        private let shownProgress = Progress(parent: nil, userInfo: nil)

        init(_ request: URLRequest) {
            originalRequest = request
        }

        private func note(_ intent: String) { state.withLock { $0.intents.append(intent) } }

        var snapshot: TaskSnapshot { state.withLock { $0.snapshot } }
        var settings: TaskSettings { state.withLock { $0.settings } }
        func changeSettings(_ change: (inout TaskSettings) -> Void) { state.withLock { change(&$0.settings) } }

        var ownDelegate: (any URLSessionTaskDelegate)? {
            get { state.withLock { $0.delegate } }
            set { state.withLock { $0.delegate = newValue } }
        }

        func add(_ operation: StreamPort.Operation) { note("stream") }
        func resume(_ task: URLSessionTask) { note("resume") }
        func suspend(_ task: URLSessionTask) { note("suspend") }
        func cancel(_ task: URLSessionTask) { note("cancel") }

        func cancel(_ task: URLSessionTask, byProducingResumeData handler: @escaping @Sendable (Data?) -> Void) {
            note("cancel by producing resume data")
            handler(Data("resume".utf8))
        }

        func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) { completion(Data("checkpoint".utf8)) }
        func state(of task: URLSessionTask) -> URLSessionTask.State { .canceling }
        func progress(of task: URLSessionTask) -> Progress { shownProgress }
        func consumerCaughtUp() {}
        func passOn(_ question: @escaping @Sendable () -> Void) {}
        func released() { note("released") }
    }

    @Test("Intents come to the engine in their order, and the last is that the public object is gone")
    func intents() throws {
        let engine = Engine(try Sample.request())
        do {
            let task = URLSessionDataTask(engine: engine)
            task.resume()
            task.suspend()
            task.cancel()
        }
        #expect(engine.state.withLock { $0.intents } == ["resume", "suspend", "cancel", "released"])
    }

    @Test("The public properties show the engine's snapshot")
    func properties() throws {
        let engine = Engine(try Sample.request())
        let task = URLSessionDataTask(engine: engine)
        let next = try Sample.request("http://example.com/next")
        let response = try Sample.head(200).response(at: #require(next.url))
        engine.state.withLock { state in
            state.snapshot = TaskSnapshot(
                currentRequest: next,
                response: TaskResponse(response),
                error: URLError(.timedOut),
                counters: TaskCounters(received: 1, sent: 2, expectedToReceive: 3, expectedToSend: 4)
            )
        }
        #expect(task.taskIdentifier == 7)
        #expect(try task.originalRequest == Sample.request())
        #expect(task.currentRequest == next)
        #expect(task.response === response)
        #expect((task.error as? URLError)?.code == .timedOut)
        #expect(task.state == .canceling)
        #expect(task.countOfBytesReceived == 1 && task.countOfBytesSent == 2)
        #expect(task.countOfBytesExpectedToReceive == 3 && task.countOfBytesExpectedToSend == 4)
    }

    @Test("A property that a program sets comes to the engine, and is shown")
    func settings() throws {
        let engine = Engine(try Sample.request())
        let task = URLSessionDataTask(engine: engine)
        let date = Date(timeIntervalSince1970: 1)
        task.taskDescription = "description"
        task.priority = 0.75
        task.earliestBeginDate = date
        task.prefersIncrementalDelivery = false
        task.countOfBytesClientExpectsToSend = 5
        task.countOfBytesClientExpectsToReceive = 6
        let expected = TaskSettings(
            description: "description",
            priority: 0.75,
            earliestBeginDate: date,
            prefersIncrementalDelivery: false,
            expectsToReceive: 6,
            expectsToSend: 5
        )
        #expect(engine.settings == expected)
        #expect(task.taskDescription == "description" && task.priority == 0.75 && task.earliestBeginDate == date)
        #expect(!task.prefersIncrementalDelivery)
    }

    @Test("Resume data and checkpoints are the engine's")
    func resumeData() async throws {
        let engine = Engine(try Sample.request())
        let task = URLSessionDownloadTask(engine: engine)
        #expect(await task.checkpoint() == Data("checkpoint".utf8))
        #expect(await task.cancelByProducingResumeData() == Data("resume".utf8))
    }
}

@Suite("Events that another process can send")
struct TaskEventTests {
    @Test("Events that another process sends come back as they were")
    func coding() throws {
        let request = try Sample.request("http://example.com/path")
        let events: [TaskEvent] = [
            .resumed(offset: 1, expectedTotalBytes: -1), .sent(TaskEvent.SentBytes(total: 1, expected: 2, request: 3)),
            .body(Data([0, 255])), .wrote(5), .isWaitingForConnectivity,
            .informational(Sample.head(103, ["Link": "a", "Link": "b"]), to: request),
        ]
        for event in events {
            let decoded = try JSONDecoder().decode(TaskEvent.self, from: JSONEncoder().encode(event))
            #expect(String(describing: decoded) == String(describing: event))
        }
    }

    @Test("No fields of the request travel with an informational response")
    func secrecy() throws {
        let request = try Sample.request("http://example.com/", "GET", ["Authorization": "secret"])
        let encoded = try JSONEncoder().encode(TaskEvent.informational(Sample.head(103), to: request))
        #expect(!String(decoding: encoded, as: UTF8.self).contains("secret"))
    }

    @Test("A task that has become another object can't be sent")
    func becameDownload() throws {
        #expect(throws: EncodingError.self) {
            try JSONEncoder().encode(TaskEvent.becameDownload(from: URLSessionDataTask()))
        }
    }

    @Test(
        "Data that isn't an event isn't taken for one",
        arguments: ["{}", "[]", "{\"resumed\":1}", "{\"informational\":{}}"]
    )
    func damaged(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(TaskEvent.self, from: Data(text.utf8)) }
    }
}
