import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let dataByHandler = Topic("data by handler") {
    Scenario("a text") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        await stage.load(server.url("/hello"))
    }
    Scenario("by URL and by request") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        await stage.handled { session.dataTask(with: server.url("/url"), completionHandler: $0) }
        await stage.handled { session.dataTask(with: URLRequest(url: server.url("/request")), completionHandler: $0) }
    }
    Scenario("an empty body") { stage in
        let server = try stage.serve { _ in .data(Data()) }
        await stage.load(server.url("/empty"))
    }
    Scenario("a chunked body") { stage in
        let server = try stage.serve { _ in .chunked(["one, ", "two, ", "three"]) }
        await stage.load(server.url("/chunked"))
    }
    Scenario("a body that ends with the connection") { stage in
        let server = try stage.serve { _ in .text("to the end").untilClose() }
        await stage.load(server.url("/close"))
    }
    Scenario("a body of 1 MiB") { stage in
        let server = try stage.serve { _ in .generated(length: 1 << 20) }
        await stage.load(server.url("/large"))
    }
    Scenario("one after the other on a session") { stage in
        let server = try stage.serve { .text("answer \($0.ordinal)") }
        let session = stage.session()
        for number in 1...3 { await stage.load(server.url("/\(number)"), in: session) }
        stage.note("connections", ["count": "\(server.connectionCount)"])
    }
    Scenario("side by side on a session") { stage in
        let server = try stage.serve(inOrder: false) { .text("answer to \($0.path)") }
        let session = stage.session()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...4 {
                let request = URLRequest(server.url("/\(number)"))
                group.addTask {
                    await withCheckedContinuation { continuation in
                        session.dataTask(with: request) { data, response, error in
                            stage.note("handler", Describe.result(data, response, error), lane: "task \(number)")
                            continuation.resume()
                        }.resume()
                    }
                }
            }
        }
    }
    Scenario("the handler runs on the delegate queue") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let queue = OperationQueue()
        queue.name = "mine"
        let session = stage.session(queue: queue)
        await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/")) { _, _, _ in
                stage.note("handler", ["queue": OperationQueue.current?.name ?? "none"])
                continuation.resume()
            }.resume()
        }
    }
    Scenario("a handler leaves the session's delegate out") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session(Recorder(stage))
        await stage.load(server.url("/"), in: session)
    }
    Scenario("the shared session") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        await stage.load(server.url("/"), in: .shared)
    }
}

let dataByDelegate = Topic("data by delegate") {
    let silence = "The session tells a task's own delegate nothing of response, data and end."
    Scenario("the order of calls") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/hello")).resume()
        try await recorder.completions()
    }
    Scenario("an empty body brings no data") { stage in
        let server = try stage.serve { _ in .data(Data()) }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/empty")).resume()
        try await recorder.completions()
    }
    Scenario("404 is a response like others") { stage in
        let server = try stage.serve { _ in .text("not here", status: 404) }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/nowhere")).resume()
        try await recorder.completions()
    }
    Scenario("a body of 1 MiB in order") { stage in
        let server = try stage.serve { _ in .generated(length: 1 << 20) }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/large")).resume()
        try await recorder.completions()
    }
    Scenario("bytes arrive before the body is complete") { stage in
        let gate = Gate()
        let server = try stage.serve { _ in .chunked([.bytes("early"), .waitFor(gate), .bytes("late")]) }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.calls("didReceive data")
        recorder.settle()
        gate.open()
        try await recorder.completions()
    }
    Scenario("tasks side by side") { stage in
        let server = try stage.serve(inOrder: false) { .text("answer to \($0.path)") }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        for name in ["a", "b", "c"] { session.dataTask(with: server.url("/" + name)).named(name).resume() }
        try await recorder.completions(3)
    }
    Scenario("the task's state at each call") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        var behaviour = Recorder.Behaviour()
        behaviour.onResponse = { stage.note($0, as: "task in didReceive response") }
        let recorder = Recorder(stage, behaviour)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        stage.note(task, as: "task before")
        task.resume()
        try await recorder.completions()
        stage.note(task, as: "task after")
    }
    Scenario("calls come on the given queue") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let queue = OperationQueue()
        queue.name = "mine"
        queue.maxConcurrentOperationCount = 1
        var behaviour = Recorder.Behaviour()
        behaviour.onResponse = { _ in stage.note("queue", ["name": OperationQueue.current?.name ?? "none"]) }
        behaviour.onData = { _ in stage.note("queue", ["name": OperationQueue.current?.name ?? "none"]) }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder, queue: queue).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("a task's own delegate comes first") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let task = stage.session().dataTask(with: server.url("/"))
        task.delegate = recorder
        task.resume()
        try await recorder.completions()
    }
    .promised(
        "a delegate specific to the task.",
        by: "\(Scenario.foundation)/urlsessiontask/delegate"
    ) { $0.names() == ["didReceive response", "didReceive data", "didComplete"] }
    .stockHangs()
    .stockSessionFails(silence)
    Scenario("what a task's own delegate lacks goes to the session's") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let own = TaskMessages(stage, recorder)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.delegate = own
        task.resume()
        try await own.gate.wait()
    }
    .promised(
        "a delegate specific to the task; what it doesn't implement, the session's delegate is asked.",
        by: "\(Scenario.foundation)/urlsessiontask/delegate"
    ) { $0.names() == ["didReceive response", "didReceive data", "own didComplete"] }
    .stockHangs()
    .stockSessionFails(silence)
}

/// A delegate that knows the messages about tasks, and none about data.
private final class TaskMessages: NSObject, URLSessionTaskDelegate {
    let gate = Gate()
    private let stage: Stage
    private let recorder: Recorder?

    init(_ stage: Stage, _ recorder: Recorder? = nil) {
        self.stage = stage
        self.recorder = recorder
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        recorder?.settle()
        stage.note("own didComplete", Describe.error(error))
        gate.open()
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        // Which comes first, this or the call's return, nobody promises.
        stage.note("didSend", ["total": "\(totalBytesSent)"], lane: "delegate")
        gate.open()
    }
}

let dispositions = Topic("dispositions") {
    let source = "https://developer.apple.com/documentation/foundation/urlsession/responsedisposition"
    Scenario("allow") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("cancel") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        var behaviour = Recorder.Behaviour()
        behaviour.disposition = .cancel
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised("`cancel`: the task is cancelled; no byte of the body is delivered.", by: source) {
        !$0.has("didReceive data") && $0.has("didComplete", ["error": "NSURLErrorDomain -999"])
    }
    Scenario("no byte before the answer") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        var behaviour = Recorder.Behaviour()
        behaviour.disposition = nil
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.calls("didReceive response")
        // Time for a body that doesn't wait to arrive.
        try await Task.sleep(for: .milliseconds(300))
        recorder.settle()
        stage.note("answers")
        recorder.answerResponse(.allow)
        try await recorder.completions()
    }
    .promised(
        "the handler must be called for the task to continue.",
        by: "https://developer.apple.com/documentation/foundation/urlsessiondatadelegate/"
            + "urlsession(_:datatask:didreceive:completionhandler:)"
    ) { $0.names() == ["didReceive response", "answers", "didReceive data", "didComplete"] }
    Scenario("become a download") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        var behaviour = Recorder.Behaviour()
        // By number: by name it is marked deprecated in the stock module, since it isn't implemented there.
        behaviour.disposition = URLSession.ResponseDisposition(rawValue: 2)
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised("`becomeDownload`: the data task becomes a download task.", by: source) {
        $0.has("didBecome download") && $0.has("didFinishDownloading", ["file": "“Hello”"])
    }
    .stockHangs()
}

let asyncCalls = Topic("async") {
    Scenario("data from a URL") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        await stage.attempt { try await stage.session().data(from: server.url("/")) }
    }
    Scenario("data for a request that is refused") { stage in
        let server = try stage.serve { _ in .text("no", status: 403) }
        await stage.attempt { try await stage.session().data(for: URLRequest(server.url("/"))) }
    }
    Scenario("upload from data") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let request = URLRequest(server.url("/"), "POST")
        await stage.attempt { try await stage.session().upload(for: request, from: Data("content".utf8)) }
    }
    Scenario("upload from a file") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let file = try stage.file("upload", Data("content".utf8))
        let request = URLRequest(server.url("/"), "PUT")
        await stage.attempt { try await stage.session().upload(for: request, fromFile: file) }
    }
    Scenario("upload from a file that is not there") { stage in
        let server = try stage.serve { _ in .text("unexpected") }
        let file = stage.directory.appendingPathComponent("missing")
        let request = URLRequest(server.url("/"), "PUT")
        await stage.attempt { try await stage.session().upload(for: request, fromFile: file) }
    }
    Scenario("download") { stage in
        let server = try stage.serve { _ in .text("to a file") }
        await stage.attemptDownload { try await stage.session().download(from: server.url("/")) }
    }
    Scenario("download of what is not there") { stage in
        let server = try stage.serve { _ in .text("not here", status: 404) }
        await stage.attemptDownload { try await stage.session().download(from: server.url("/")) }
    }
    Scenario("nobody listens") { stage in
        let url = try stage.nobody()
        await stage.attempt { try await stage.session().data(from: url) }
    }
    Scenario("the server hangs up") { stage in
        let server = try stage.serve { _ in .fault(.beforeAnyByte) }
        await stage.attempt { try await stage.session().data(from: server.url("/")) }
    }
    .promised(.networkConnectionLost)
    Scenario("cancelled under way") { stage in
        let server = try stage.serve { _ in .never }
        let session = stage.session()
        let task = Task { await stage.attempt { try await session.data(from: server.url("/")) } }
        _ = try await server.requestHead(number: 1)
        task.cancel()
        await task.value
    }
    Scenario("cancelled before it begins") { stage in
        let server = try stage.serve { _ in .text("unexpected") }
        let session = stage.session()
        let gate = Gate()
        let task = Task {
            try? await gate.wait()
            await stage.attempt { try await session.data(from: server.url("/")) }
        }
        task.cancel()
        await task.value
    }
    .promised(
        "cancelling the Swift task cancels what it awaits of the session.",
        by: "https://developer.apple.com/videos/play/wwdc2021/10095/"
    ) { $0.first("threw", "error") == "NSURLErrorDomain -999" }
    .stockIsUnsteady()
    Scenario("with a delegate of its own") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let own = TaskMessages(stage)
        let request = URLRequest(server.url("/"), "POST")
        await stage.attempt {
            try await stage.session().upload(for: request, from: Data("content".utf8), delegate: own)
        }
        try await own.gate.wait()
    }
    Scenario("several at once") { stage in
        let server = try stage.serve(inOrder: false) { .text("answer to \($0.path)") }
        let session = stage.session()
        async let first = session.data(from: server.url("/1"))
        async let second = session.data(from: server.url("/2"))
        async let third = session.data(from: server.url("/3"))
        for (data, response) in try await [first, second, third] {
            stage.note("returned", Describe.result(data, response, nil))
        }
    }
}
