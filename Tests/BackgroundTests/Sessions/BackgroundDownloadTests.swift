import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("Downloads")
    struct Downloads {
        @Test("A download is told as in any session, and nothing of it stays")
        func download() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { _ in .generated(length: 300_000, seed: 7) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/file"))
            task.taskDescription = "a file"
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 7, length: 300_000))
            #expect(delegate.story(of: task) == ["created", "wrote", "finished downloading", "completed"])
            #expect(
                delegate.events(of: task).contains(.wrote(300_000, total: 300_000, expected: 300_000))
                    || delegate.events(of: task).filter { $0.name == "wrote" }.count > 1
            )
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
            #expect(task.state == .completed)
            #expect(task.countOfBytesReceived == 300_000)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
        }

        @Test("The request goes out as it is: method, fields, body, and those of the configuration")
        func request() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { .echo($0) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.httpAdditionalHeaders = ["X-Session": "s"] }
            let headers = ["X-Own": "o", "Authorization": "Bearer b"]
            let task = session.downloadTask(
                with: URLRequest(server.url("/"), method: "POST", headers: headers, body: Data("body".utf8))
            )
            task.resume()
            try await delegate.success(of: task)
            let request = server.requests[0]
            #expect(request.method == "POST")
            #expect(request.text == "body")
            #expect(request.header("X-Own") == "o")
            #expect(request.header("X-Session") == "s")
            #expect(request.header("Authorization") == "Bearer b")
            session.invalidateAndCancel()
        }

        @Test("Redirects are followed, and nobody is asked")
        func redirect() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("there".utf8))
            #expect(task.currentRequest?.url == server.url("/there"))
            #expect(task.originalRequest?.url == server.url("/"))
            session.invalidateAndCancel()
        }

        @Test("An error of the server's is a response like others")
        func notFound() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { _ in .text("no", status: 404) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            try await delegate.success(of: task)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 404)
            session.invalidateAndCancel()
        }

        @Test("Suspending stops the transfer, and resuming goes on with it")
        func suspension() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let gate = Gate()
            let server = try LoopbackServer { _ in
                .pieces([.bytes("first"), .waitFor(gate), .bytes("second")])
            }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            try await delegate.wait(for: task) { $0.name == "wrote" }
            task.suspend()
            #expect(task.state == .suspended)
            gate.open()
            task.resume()
            #expect(task.state == .running)
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == Data("firstsecond".utf8))
            session.invalidateAndCancel()
        }

        @Test("A cancelled task ends with that, whether it runs or waits")
        func cancellation() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { _ in .pieces([.bytes("first"), .never, .bytes("second")]) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let running = session.downloadTask(with: server.url("/"))
            let waiting = session.downloadTask(with: server.url("/"))
            running.resume()
            try await delegate.wait(for: running) { $0.name == "wrote" }
            waiting.cancel()
            running.cancel()
            #expect(try await delegate.completion(of: waiting)?.code == .cancelled)
            let error = try await delegate.completion(of: running)
            #expect(error?.code == .cancelled)
            #expect(error?.backgroundTaskCancelledReason == nil)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
        }

        @Test(
            "A download that was paused by resume data goes on, in this session and in an ordinary one",
            arguments: [true, false]
        )
        func resumeData(isBackground: Bool) async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 3)
            let server = try LoopbackServer { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .waitFor(gate), .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            try await delegate.wait(for: task) {
                if case .wrote(_, let total, _) = $0 { total >= 100_000 } else { false }
            }
            let data = try #require(await task.cancelByProducingResumeData())
            #expect(try await delegate.completion(of: task)?.code == .cancelled)

            let other =
                isBackground
                ? session : URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
            let again = other.downloadTask(withResumeData: data)
            // The other session begins to count anew.
            guard isBackground else {
                let (file, _) = try await other.download(resumeFrom: data)
                #expect(try Data(contentsOf: file) == GeneratedBody.bytes(seed: 3, length: 200_000))
                #expect(server.requests.last?.header("Range") == "bytes=100000-")
                other.invalidateAndCancel()
                session.invalidateAndCancel()
                return
            }
            again.resume()
            try await delegate.success(of: again)
            #expect(delegate.body(of: again) == GeneratedBody.bytes(seed: 3, length: 200_000))
            #expect(server.requests.last?.header("Range") == "bytes=100000-")
            #expect(delegate.events(of: again).contains(.resumed(offset: 100_000, expected: 200_000)))
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
        }

        @Test("A lost connection is no end: the download goes on from where it was")
        func lostConnection() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 4)
            let server = try LoopbackServer { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .reset, .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            try await delegate.success(of: task)
            #expect(delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 200_000))
            #expect(delegate.completionCount(of: task) == 1)
            #expect(server.requests.contains { $0.header("Range") != nil })
            session.invalidateAndCancel()
        }

        @Test("What takes longer than the time-out for resources ends, however often the network fails")
        func resourceTimeout() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { _ in .fault(.beforeAnyByte, then: .reset) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.timeoutIntervalForResource = 1 }
            let task = session.downloadTask(with: server.url("/"))
            task.resume()
            #expect(try await delegate.completion(of: task)?.code == .timedOut)
            session.invalidateAndCancel()
        }
    }
}
