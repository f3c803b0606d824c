import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let cancellation = Topic("cancellation") {
    Scenario("before it is resumed") { stage in
        let server = try stage.serve { _ in .text("unexpected") }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.cancel()
        try await recorder.completions()
        stage.note("task", Describe.error(task.error))
    }
    Scenario("while the server is silent") { stage in
        let server = try stage.serve { _ in .never }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        _ = try await server.requestHead(number: 1)
        task.cancel()
        try await recorder.completions()
        stage.note("task", Describe.error(task.error))
    }
    Scenario("with a handler") { stage in
        let server = try stage.serve { _ in .never }
        let session = stage.session()
        let gate = Gate()
        let task = session.dataTask(with: server.url("/")) { data, response, error in
            stage.note("handler", Describe.result(data, response, error))
            gate.open()
        }
        task.resume()
        _ = try await server.requestHead(number: 1)
        task.cancel()
        try await gate.wait()
    }
    Scenario("inside the body") { stage in
        let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        var behaviour = Recorder.Behaviour()
        behaviour.onData = { $0.cancel() }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("in didReceive response") { stage in
        let server = try stage.serve { _ in .fault(.afterHead(length: 5), then: .hang) }
        var behaviour = Recorder.Behaviour()
        behaviour.onResponse = { $0.cancel() }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("twice") { stage in
        let server = try stage.serve { _ in .never }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        _ = try await server.requestHead(number: 1)
        task.cancel()
        task.cancel()
        session.finishTasksAndInvalidate()
        try await recorder.invalidation()
    }
    Scenario("after the end") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        task.cancel()
        session.finishTasksAndInvalidate()
        try await recorder.invalidation()
        stage.note(task, as: "task")
    }
    .promised(
        "the error of a task that has completed successfully is nil.",
        by: "https://developer.apple.com/documentation/foundation/urlsessiontask/error"
    ) { $0.has("task") && $0.first("task", "error") == nil }
    .stockIsUnsteady()
    Scenario("one of three") { stage in
        let server = try stage.serve(inOrder: false) { $0.path == "/b" ? .never : .text("Hello") }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        let tasks = ["a", "b", "c"].map { session.dataTask(with: server.url("/" + $0)).named($0) }
        for task in tasks { task.resume() }
        try await recorder.completions(2)
        try await server.waitForRequests(3)
        tasks[1].cancel()
        try await recorder.completions(3)
    }
}

let suspension = Topic("suspension") {
    Scenario("a task starts suspended") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        stage.note(task, as: "created")
        task.resume()
        try await recorder.completions()
    }
    Scenario("a task that only its session holds can be resumed") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        weak let task: URLSessionDataTask? = session.dataTask(with: server.url("/"))
        stage.note("task", ["is there": "\(task != nil)"])
        task?.resume()
        try await recorder.completions()
    }
    Scenario("resumed twice, it runs once") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        task.resume()
        try await recorder.completions()
    }
    Scenario("resumed after the end, it stays completed") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        task.resume()
        session.finishTasksAndInvalidate()
        try await recorder.invalidation()
        stage.note(task, as: "task")
    }
    Scenario("suspended inside the body, it goes on where it was") { stage in
        let gate = Gate()
        let server = try stage.serve { request in
            .pieces([.body(.generated(length: 50_000)), .waitFor(gate), .body(.generated(length: 50_000, seed: 1))])
        }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        try await recorder.calls("didReceive data")
        task.suspend()
        stage.note(task.state == .suspended ? "suspended" : "not suspended")
        gate.open()
        task.resume()
        try await recorder.completions()
    }
    .promised(
        "a suspended task produces no traffic, and goes on when it is resumed.",
        by: "https://developer.apple.com/documentation/foundation/urlsessiontask/suspend()"
    ) {
        $0.count("request") == 1 && $0.count("didReceive response") == 1
            && !$0.events.contains { $0.name == "didComplete" && $0.details["error"] != nil }
    }
    .stockHangs()
    .stockIsUnsteady()
    Scenario("cancelled while suspended") { stage in
        let server = try stage.serve { _ in .text("unexpected") }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.suspend()
        task.cancel()
        try await recorder.completions()
    }
}

let sessions = Topic("sessions") {
    Scenario("invalidated without tasks") { stage in
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        session.finishTasksAndInvalidate()
        try await recorder.invalidation()
        // The stock session may let it go somewhat later.
        while session.delegate != nil { try await Task.sleep(for: .milliseconds(1)) }
        stage.note("delegate", ["kept": "no"])
    }
    Scenario("invalidated, its tasks finish") { stage in
        let gate = Gate()
        let server = try stage.serve { _ in LoopbackServer.Response.text("Hello").after([.waitFor(gate)]) }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        session.dataTask(with: server.url("/")).resume()
        _ = try await server.requestHead(number: 1)
        session.finishTasksAndInvalidate()
        gate.open()
        try await recorder.invalidation()
    }
    Scenario("invalidated and cancelled") { stage in
        let server = try stage.serve { _ in .never }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        session.dataTask(with: server.url("/")).resume()
        _ = try await server.requestHead(number: 1)
        session.invalidateAndCancel()
        try await recorder.invalidation()
    }
    Scenario("the shared one can't be invalidated") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        URLSession.shared.invalidateAndCancel()
        URLSession.shared.finishTasksAndInvalidate()
        await stage.load(server.url("/"), in: .shared)
    }
    .promised(
        "calling this on the session returned by the shared method has no effect.",
        by: "\(Scenario.foundation)/urlsession/invalidateandcancel()"
    ) { $0.has("handler", ["status": "200"]) }
    .stockIsUnsteady()
    Scenario("its tasks, by kind") { stage in
        let server = try stage.serve(inOrder: false) { _ in .never }
        let session = stage.session()
        let request = URLRequest(server.url("/b"), "POST")
        let tasks = [
            session.dataTask(with: server.url("/a")), session.uploadTask(with: request, from: Data()),
            session.downloadTask(with: server.url("/c")), session.dataTask(with: server.url("/d")),
        ]
        for task in tasks { task.resume() }
        await withCheckedContinuation { continuation in
            session.getTasksWithCompletionHandler { data, uploads, downloads in
                stage.note(
                    "tasks",
                    ["data": "\(data.count)", "uploads": "\(uploads.count)", "downloads": "\(downloads.count)"]
                )
                continuation.resume()
            }
        }
        await withCheckedContinuation { continuation in
            session.getAllTasks { tasks in
                stage.note("all tasks", ["identifiers": "\(tasks.map(\.taskIdentifier).sorted())"])
                continuation.resume()
            }
        }
        try await server.waitForRequests(4)
    }
    .stockSessionFails("Protocol classes can't load downloads, so one of the requests never comes.")
    Scenario("completed tasks are not listed") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        await stage.load(server.url("/"), in: session)
        await withCheckedContinuation { continuation in
            session.delegateQueue.addOperation {
                session.getAllTasks { tasks in
                    stage.note("tasks", ["count": "\(tasks.count)"])
                    continuation.resume()
                }
            }
        }
    }
    Scenario("identifiers") { stage in
        let url = try stage.nobody()
        for name in ["one", "other"] {
            let session = stage.session()
            let identifiers = [
                session.dataTask(with: url).taskIdentifier, session.downloadTask(with: url).taskIdentifier,
                session.dataTask(with: url).taskIdentifier,
            ]
            stage.note("identifiers", ["\(name) session": "\(identifiers)"])
        }
    }
    Scenario("its configuration is a copy") { stage in
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 7
        let session = URLSession(configuration: configuration)
        configuration.timeoutIntervalForRequest = 8
        stage.note("session", ["timeout": "\(session.configuration.timeoutIntervalForRequest)"])
    }
    .promised(
        "the session copies its configuration: later changes have no effect on it.",
        by: "https://developer.apple.com/documentation/foundation/urlsession/"
            + "init(configuration:delegate:delegatequeue:)"
    ) { $0.has("session", ["timeout": "7.0"]) }
    Scenario("what a default configuration says") { stage in
        let configuration = URLSessionConfiguration.default
        stage.note(
            "configuration",
            [
                "request timeout": "\(configuration.timeoutIntervalForRequest)",
                "resource timeout": "\(configuration.timeoutIntervalForResource)",
                "connections": "\(configuration.httpMaximumConnectionsPerHost)",
                "policy": "\(configuration.requestCachePolicy.rawValue)",
                "sets cookies": "\(configuration.httpShouldSetCookies)",
                "cookie policy": "\(configuration.httpCookieAcceptPolicy.rawValue)",
                "cellular": "\(configuration.allowsCellularAccess)",
                "discretionary": "\(configuration.isDiscretionary)",
                "identifier": configuration.identifier ?? "nil",
                "service": "\(configuration.networkServiceType.rawValue)",
                "headers": configuration.httpAdditionalHeaders == nil ? "nil" : "some",
                "cookies": configuration.httpCookieStorage == nil ? "nil" : "some",
                "credentials": configuration.urlCredentialStorage == nil ? "nil" : "some",
                "cache": configuration.urlCache == nil ? "nil" : "some",
            ]
        )
    }
    Scenario("names and descriptions") { stage in
        let session = stage.session()
        session.sessionDescription = "mine"
        let task = session.dataTask(with: try stage.nobody())
        stage.note("session", ["description": session.sessionDescription ?? "nil"])
        stage.note("task", ["description": task.taskDescription ?? "nil", "priority": "\(task.priority)"])
        task.taskDescription = "task"
        task.priority = URLSessionTask.highPriority
        stage.note("task", ["description": task.taskDescription ?? "nil", "priority": "\(task.priority)"])
        stage.note(
            "priorities",
            ["\(URLSessionTask.lowPriority)": "\(URLSessionTask.defaultPriority) \(URLSessionTask.highPriority)"]
        )
    }
    Scenario("its delegate queue is serial by default") { stage in
        let session = stage.session()
        stage.note("queue", ["at once": "\(session.delegateQueue.maxConcurrentOperationCount)"])
    }
    Scenario("flushed and reset") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        await stage.load(server.url("/1"), in: session)
        await withCheckedContinuation { continuation in
            session.flush {
                stage.note("flushed")
                continuation.resume()
            }
        }
        await withCheckedContinuation { continuation in
            session.reset {
                stage.note("reset")
                continuation.resume()
            }
        }
        await stage.load(server.url("/2"), in: session)
    }
    Scenario("connections are used again") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        for number in 1...3 { await stage.load(server.url("/\(number)"), in: session) }
        stage.note("connections", ["count": "\(server.connectionCount)"])
    }
    Scenario("a second session has connections of its own") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        await stage.load(server.url("/1"), in: stage.session())
        await stage.load(server.url("/2"), in: stage.session())
        stage.note("connections", ["count": "\(server.connectionCount)"])
    }
    Scenario("a request that can't be made keeps the others running") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        await stage.load(try stage.nobody(), in: session)
        await stage.load(server.url("/"), in: session)
    }
}

let progress = Topic("progress") {
    Scenario("counters of a response") { stage in
        let server = try stage.serve { _ in .generated(length: 10_000) }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        stage.noteCounters(task)
    }
    .promised(
        "the number of bytes that the task has received from the server in the response body.",
        by: "\(Scenario.foundation)/urlsessiontask/countofbytesreceived"
    ) { $0.has("counters", ["received": "10000/10000"]) }
    Scenario("counters of a handler's task") { stage in
        let server = try stage.serve { _ in .generated(length: 10_000) }
        let session = stage.session()
        let gate = Gate()
        let task = session.dataTask(with: server.url("/")) { _, _, _ in gate.open() }
        task.resume()
        try await gate.wait()
        stage.noteCounters(task)
    }
    .promised(
        "the number of bytes that the task has received from the server in the response body.",
        by: "\(Scenario.foundation)/urlsessiontask/countofbytesreceived"
    ) { $0.has("counters", ["received": "10000/10000"]) }
    Scenario("counters of an upload") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let recorder = Recorder(stage)
        let data = GeneratedBody.bytes(seed: 6, range: 0..<10_000)
        let task = stage.session(recorder).uploadTask(with: URLRequest(server.url("/"), "POST"), from: data)
        task.resume()
        try await recorder.completions()
        stage.noteCounters(task)
    }
    .promised(
        "the number of bytes that the task has received from the server in the response body.",
        by: "\(Scenario.foundation)/urlsessiontask/countofbytesreceived"
    ) { $0.has("counters", ["received": "9/9"]) }
    Scenario("counters without a length") { stage in
        let server = try stage.serve { _ in .chunked(["one", "two"]) }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        stage.noteCounters(task)
    }
    .promised(
        "the number of bytes that the task has received from the server in the response body.",
        by: "\(Scenario.foundation)/urlsessiontask/countofbytesreceived"
    ) { $0.has("counters", ["received": "6/-1"]) }
    Scenario("a finished download's progress") { stage in
        let server = try stage.serve { _ in .generated(length: 10_000) }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).downloadTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        stage.note("progress", ["fraction": "\(task.progress.fractionCompleted)"])
    }
    .promised(
        "the fraction is 1 once all of the task's units are completed.",
        by: "\(Scenario.foundation)/urlsessiontask/progress"
    ) { $0.has("progress", ["fraction": "1.0"]) }
    Scenario("a finished data task's progress") { stage in
        let server = try stage.serve { _ in .generated(length: 10_000) }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
        stage.note("progress", ["fraction": "\(task.progress.fractionCompleted)"])
    }
    .promised(
        "the fraction is 1 once all of the task's units are completed.",
        by: "https://developer.apple.com/documentation/foundation/urlsessiontask/progress"
    ) { $0.has("progress", ["fraction": "1.0"]) }
    .stockIsUnsteady()
}

let timeouts = Topic("time-outs") {
    let page = "https://developer.apple.com/documentation/foundation/urlsessionconfiguration/timeoutintervalfor"
    Scenario("a silent server, the configuration's") { stage in
        let server = try stage.serve { _ in .never }
        let session = stage.session { $0.timeoutIntervalForRequest = 1 }
        await stage.load(server.url("/"), in: session)
    }
    Scenario("a silent server, the request's") { stage in
        let server = try stage.serve { _ in .never }
        var request = URLRequest(server.url("/"))
        request.timeoutInterval = 1
        await stage.load(request)
    }
    Scenario("the request's comes before the configuration's") { stage in
        let server = try stage.serve { _ in .never }
        var request = URLRequest(server.url("/"))
        request.timeoutInterval = 1
        let session = stage.session { $0.timeoutIntervalForRequest = 600 }
        await stage.load(request, in: session)
    }
    Scenario("a server that falls silent inside the body") { stage in
        let server = try stage.serve { _ in .fault(.insideBody(after: 100, of: 200), then: .hang) }
        let recorder = Recorder(stage)
        let session = stage.session(recorder) { $0.timeoutIntervalForRequest = 3 }
        session.dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("each byte starts the clock anew") { stage in
        let pieces: [LoopbackServer.Step] = (1...4).flatMap { [.bytes("\($0)"), .pause(.seconds(1))] }
        let server = try stage.serve { _ in .pieces(pieces, contentType: nil) }
        let session = stage.session { $0.timeoutIntervalForRequest = 3 }
        await stage.load(server.url("/"), in: session)
    }
    Scenario("a fraction of a second") { stage in
        let server = try stage.serve { _ in LoopbackServer.Response.text("Hello").after([.pause(.milliseconds(100))]) }
        let session = stage.session { $0.timeoutIntervalForRequest = 0.9 }
        await stage.load(server.url("/"), in: session)
    }
    .promised("an interval in seconds, a `TimeInterval`: 0.9 is not zero.", by: page + "request") {
        $0.has("handler", ["body": "“Hello”"])
    }
    .stockIsUnsteady()
    Scenario("the whole resource") { stage in
        let server = try stage.serve { _ in
            LoopbackServer.Response.generated(length: 1 << 20).throttled(bytesPerSecond: 1000)
        }
        let session = stage.session { $0.timeoutIntervalForResource = 1 }
        await stage.load(server.url("/"), in: session)
    }
    .promised("the maximum time that a resource request may take.", by: page + "resource") {
        $0.has("handler", ["error": "NSURLErrorDomain -1001"])
    }
    .stockHangs()
    Scenario("async") { stage in
        let server = try stage.serve { _ in .never }
        let session = stage.session { $0.timeoutIntervalForRequest = 1 }
        await stage.attempt { try await session.data(from: server.url("/")) }
    }
}
