import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A thousand requests that share connections", .timeLimit(.minutes(1)))
struct HTTP2StormTests {
    @Test(
        "A thousand requests that share connections complete once each, however many are cancelled",
        arguments: [NginxHTTP2.Listener.plain, .tls]
    )
    func cancels(listener: NginxHTTP2.Listener) async throws {
        let nginx = try NginxHTTP2.shared()
        let content = GeneratedBody.bytes(seed: 41, length: 50_000)
        let server = try LoopbackServer { $0.path == "/never" ? .never : .text("\($0.body == content)") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let upload = URLRequest(nginx.url(listener, "/proxy/\(server.port)/"), method: "POST", body: content)
        var tasks: [(task: URLSessionTask, isCancelled: Bool)] = []
        var cancelledOnes: [URLSessionTask] = []
        for number in 0..<1000 {
            let task: URLSessionTask
            switch number % 5 {
            case 0: task = session.dataTask(with: nginx.url(listener, "/proxy/\(server.port)/never"))
            case 1: task = session.dataTask(with: nginx.url(listener, NginxSite.mebibytePath))
            case 2: task = session.dataTask(with: upload)
            default: task = session.dataTask(with: nginx.url(listener, NginxSite.smallPath))
            }
            // What never ends is cancelled in any case.
            let isCancelled = number % 5 == 0 || Bool.random()
            tasks.append((task, isCancelled))
            task.resume()
            if isCancelled { cancelledOnes.append(task) }
            if cancelledOnes.count > 40, let task = cancelledOnes.randomElement() {
                task.cancel()
                cancelledOnes.removeAll { $0 === task }
            }
        }
        for task in cancelledOnes.shuffled() { task.cancel() }
        for (number, (task, isCancelled)) in tasks.enumerated() {
            let error = try await delegate.completion(of: task)
            #expect(error == nil || isCancelled && error?.code == .cancelled, "\(error?.userInfo as Any)")
            guard error == nil else { continue }
            switch number % 5 {
            case 1: #expect(delegate.body(of: task) == NginxSite.mebibyte)
            case 2: #expect(delegate.body(of: task) == Data("true".utf8))
            default: #expect(delegate.body(of: task) == Data(NginxSite.smallText.utf8))
            }
        }
        await session.flush()
        for (task, _) in tasks { #expect(delegate.completionCount(of: task) == 1) }
    }

    @Test(
        "Requests get their own bytes beside uploads of unknown length, and beside uploads that are refused early",
        arguments: [NginxHTTP2.Listener.plain, .tls],
        [false, true]
    )
    func besideUploads(listener: NginxHTTP2.Listener, isRefused: Bool) async throws {
        let nginx = try NginxHTTP2.shared()
        let server = try LoopbackServer { .text("\($0.body.count)") }
        defer { server.stop() }
        let session = nginx.session()
        defer { session.invalidateAndCancel() }
        let (content, large) = (Data(repeating: 1, count: 50_000), Data(repeating: 1, count: 3_000_000))
        let streamed = URLRequest(nginx.url(listener, "/proxy/\(server.port)/"), method: "POST")
        let refused = URLRequest(nginx.url(listener, "/private/"), method: "POST", body: large)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<50 {
                group.addTask {
                    for _ in 0..<10 where lane.isMultiple(of: 2) {
                        let (data, _) = try await session.data(from: nginx.url(listener, NginxSite.mebibytePath))
                        #expect(data == NginxSite.mebibyte)
                    }
                    for _ in 0..<40 where !lane.isMultiple(of: 2) {
                        if isRefused {
                            // nginx resets the stream: before version 8.1, libcurl may hear of that before it has the answer.
                            _ = await session.load(refused)
                        } else {
                            var request = streamed
                            request.httpBodyStream = InputStream(data: content)
                            #expect(await session.load(request).text == "\(content.count)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("Tasks whose shared connection breaks fail once each, and the next request gets a new one")
    func broken() async throws {
        typealias Server = ScriptedHTTP2Server
        let gate = Gate()
        let server = try Server { request in
            guard request.connection == 2 else { return Server.text("hello") }
            return [
                .headers(Server.fields(), ends: false), .data(Data("half".utf8), ends: false), .waitFor(gate), .hangUp,
            ]
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = try NginxHTTP2.shared().session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).text == "hello")
        await session.flush()
        let tasks = (0..<90).map { _ in session.dataTask(with: server.url()) }
        for task in tasks { task.resume() }
        for task in tasks {
            try await delegate.wait(for: task) { $0 == .data(count: 4) || $0.name == "completed" }
        }
        gate.open()
        for task in tasks {
            #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
            #expect(delegate.body(of: task) == Data("half".utf8))
        }
        #expect(await session.load(server.url()).text == "hello")
        #expect(server.state.value.requests.count == 92)
        for task in tasks { #expect(delegate.completionCount(of: task) == 1) }
    }
}
